import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type VirtualItem,
  Virtualizer,
} from '@tanstack/virtual-core'
import { useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks'

type Options = { readonly count: number; readonly rowPixels: number; readonly startPixels: number }

/** The rows that are drawn above and below those in view. */
const overscan = 12

/**
 * A long list of which only the rows in view are drawn, scrolled to `startPixels` at first. `container` is the ref of the element that
 * scrolls, which it does if `isScrolled`.
 */
export const useVirtual = ({ count, rowPixels, startPixels }: Options) => {
  const container = useRef<HTMLDivElement>(null)
  const [, redraw] = useReducer((drawn: number) => drawn + 1, 0)
  const options = {
    count,
    overscan,
    initialOffset: startPixels,
    estimateSize: () => rowPixels,
    getScrollElement: () => container.current,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => redraw(undefined),
  }
  const [virtualizer] = useState(() => new Virtualizer<HTMLDivElement, HTMLElement>(options))
  virtualizer.setOptions(options)
  useLayoutEffect(() => virtualizer._didMount(), [virtualizer])
  useLayoutEffect(() => virtualizer._willUpdate())
  useLayoutEffect(() => virtualizer.measure(), [virtualizer, rowPixels])
  return {
    container,
    items: virtualizer.getVirtualItems() as readonly VirtualItem[],
    totalPixels: virtualizer.getTotalSize(),
    isScrolled: virtualizer.getTotalSize() > (virtualizer.scrollRect?.height ?? 0),
  }
}
