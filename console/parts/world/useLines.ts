import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from '@tanstack/virtual-core'
import { useLayoutEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks'

/** The height of a line that is not wrapped, in pixels, as in style.css. */
const lineHeight = 20
/** The distance from the end within which the list counts as being at its end, in pixels. */
const endThreshold = 24

/**
 * A list of which only the lines in view are drawn. Lines keep their place in view when others are dropped at the top. While
 * `isFollowing` the end stays in view; `onFollow` reports that the user scrolled away from the end, or back to it.
 */
export const useLines = ({
  count,
  firstKey,
  isWrapped,
  isFollowing,
  onFollow,
}: {
  readonly count: number
  /** The number of lines before the first one. */
  readonly firstKey: number
  readonly isWrapped: boolean
  readonly isFollowing: boolean
  readonly onFollow: (isFollowing: boolean) => void
}) => {
  const container = useRef<HTMLDivElement>(null)
  const lastTop = useRef(0)
  const [, redraw] = useReducer((drawn: number) => drawn + 1, 0)
  const getItemKey = useMemo(() => (index: number) => firstKey + index, [firstKey])
  const options = {
    count,
    getItemKey,
    overscan: 20,
    anchorTo: 'end' as const,
    estimateSize: () => lineHeight,
    getScrollElement: () => container.current,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => redraw(undefined),
  }
  const [virtualizer] = useState(() => new Virtualizer<HTMLDivElement, HTMLDivElement>(options))
  virtualizer.setOptions(options)
  useLayoutEffect(() => virtualizer._didMount(), [virtualizer])
  useLayoutEffect(() => virtualizer._willUpdate())
  useLayoutEffect(() => virtualizer.measure(), [virtualizer, isWrapped])
  useLayoutEffect(() => {
    const element = container.current
    if (isFollowing && element !== null) element.scrollTop = element.scrollHeight
  })
  return {
    container,
    items: virtualizer.getVirtualItems(),
    totalPixels: virtualizer.getTotalSize(),
    /** The properties of a drawn line, whose height is measured if it is wrapped. */
    measured: isWrapped ? { ref: virtualizer.measureElement } : {},
    scrollTo: (index: number): void => virtualizer.scrollToIndex(index, { align: 'center' }),
    onScroll: (): void => {
      const element = container.current
      if (element === null) return
      const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight <= endThreshold
      const isUp = element.scrollTop < lastTop.current
      lastTop.current = element.scrollTop
      if (isAtEnd) onFollow(true)
      else if (isUp) onFollow(false)
    },
  }
}
