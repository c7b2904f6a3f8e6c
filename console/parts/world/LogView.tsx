import { type Signal, useSignal } from '@preact/signals'
import { useMemo, useRef } from 'preact/hooks'
import { parseAnsi, type Style } from '#console/state/ansi.ts'
import { formatCount } from '#console/state/format.ts'
import type { LogLines } from '#console/state/logLines.ts'
import { findMatches, noMatches, splitMatches, stepMatch } from '#console/state/logSearch.ts'
import { toVisible } from '#console/state/visible.ts'
import { useLines } from './useLines.ts'

type Props = {
  readonly lines: LogLines
  /** Changes with the lines. */
  readonly version: number
  readonly query: Signal<string>
}

/** The lines of a log, with search, wrap and follow. Only the lines in view are drawn. */
export const LogLinesView = ({ lines, version, query }: Props) => {
  const isWrapped = useSignal(true)
  const isFollowing = useSignal(true)
  const present = useSignal<number | undefined>(undefined)
  const { length, dropped } = lines
  const list = useLines({
    count: length,
    firstKey: dropped,
    isWrapped: isWrapped.value,
    isFollowing: isFollowing.value,
    onFollow: (value) => {
      isFollowing.value = value
    },
  })
  const wanted = query.value
  const found = useRef({ lines, matches: noMatches })
  // The lines change in place; the version tells when.
  const { lines: matches } = useMemo(() => {
    const before = found.current.lines === lines ? found.current.matches : noMatches
    found.current = { lines, matches: findMatches(before, lines, wanted) }
    return found.current.matches
  }, [lines, version, wanted])
  const matchCount = wanted === '' ? '' : countText(matches, present.value)
  // Only what the user does is announced, not each line that comes.
  const announced = useMemo(() => matchCount, [wanted, present.value])
  const step = (by: 1 | -1): void => {
    const line = matches[stepMatch(matches, present.value, by)]
    if (line === undefined) return
    isFollowing.value = false
    present.value = line
    list.scrollTo(line - dropped)
  }
  return (
    <>
      <search class="log-tools">
        <label for="log-search">Search</label>
        <input
          id="log-search"
          type="search"
          autocomplete="off"
          spellcheck={false}
          value={query.value}
          onInput={(event) => {
            query.value = event.currentTarget.value
            present.value = undefined
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter') step(event.shiftKey ? -1 : 1)
          }}
        />
        <span aria-hidden="true" class="muted">
          {matchCount}
        </span>
        <span role="status" class="visually-hidden">
          {announced}
        </span>
        <button type="button" disabled={matches.length === 0} aria-label="Previous match" onClick={() => step(-1)}>
          ↑
        </button>
        <button type="button" disabled={matches.length === 0} aria-label="Next match" onClick={() => step(1)}>
          ↓
        </button>
        <label class="check">
          <input
            type="checkbox"
            checked={isWrapped.value}
            onChange={(event) => {
              isWrapped.value = event.currentTarget.checked
            }}
          />{' '}
          Wrap
        </label>
        {!isFollowing.value && (
          <button
            type="button"
            onClick={() => {
              isFollowing.value = true
            }}
          >
            Follow
          </button>
        )}
      </search>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: A region that scrolls must be reachable by keyboard. */}
      <div ref={list.container} class="log-lines" role="log" aria-live="off" tabIndex={0} onScroll={list.onScroll}>
        <div class="log-space" style={{ height: `${list.totalPixels}px` }}>
          {list.items.map(({ key, index, start }) => (
            <div
              key={key}
              {...list.measured}
              data-index={index}
              class={`log-line ${isWrapped.value ? 'is-wrapped' : ''} ${index + dropped === present.value ? 'is-present' : ''}`}
              style={{ transform: `translateY(${start}px)` }}
            >
              <Line text={lines.lineAt(index + dropped)} query={wanted} />
            </div>
          ))}
        </div>
      </div>
    </>
  )
}

const countText = (matches: readonly number[], present: number | undefined): string => {
  if (matches.length === 0) return 'No match'
  const place = present === undefined ? -1 : matches.indexOf(present)
  return place < 0 ? formatCount(matches.length, 'line') : `${formatCount(place + 1)} of ${formatCount(matches.length)}`
}

const Line = ({ text, query }: { readonly text: string; readonly query: string }) => (
  <>
    {parseAnsi(text).map(({ text: part, style }, index) => (
      <span key={index} {...looksOf(style)}>
        {splitMatches(toVisible(part), query).map((piece, place) =>
          piece.isMatch ? <mark key={place}>{piece.text}</mark> : piece.text,
        )}
      </span>
    ))}
  </>
)

/** The 16 colours of the theme are classes, and all others are set one by one. */
const looksOf = ({ foreground, background, isBold }: Style): { class?: string; style?: Record<string, string> } => {
  const names = [
    ...(isBold ? ['ansi-bold'] : []),
    ...(typeof foreground === 'number' ? [`ansi-fg-${foreground}`] : []),
    ...(typeof background === 'number' ? [`ansi-bg-${background}`] : []),
    ...(typeof foreground === 'string' && background === undefined ? ['ansi-ink'] : []),
  ]
  const style = {
    ...(typeof foreground === 'string' ? { [background === undefined ? '--ink' : 'color']: foreground } : {}),
    ...(typeof background === 'string' ? { backgroundColor: background } : {}),
  }
  return {
    ...(names.length > 0 ? { class: names.join(' ') } : {}),
    ...(Object.keys(style).length > 0 ? { style } : {}),
  }
}
