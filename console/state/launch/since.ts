import { parseInstant } from '#console/state/instant.ts'
import type { Row } from '#console/state/row.ts'

const minuteMs = 60_000

/** The windows that the launch page offers. The name is in the URL; the default one is not. */
export const windows = [
  { name: '15m', label: 'Last 15 minutes', lengthMs: 15 * minuteMs },
  { name: '1h', label: 'Last hour', lengthMs: 60 * minuteMs },
  { name: '1d', label: 'Last day', lengthMs: 24 * 60 * minuteMs },
  { name: 'all', label: 'All present runs', lengthMs: Number.POSITIVE_INFINITY },
] as const

const [, defaultWindow] = windows

/** The time from which on the launch page counts runs. */
export type Since = {
  /** The name of a window, or the instant as ISO 8601. */
  readonly value: string
  /** The first time that counts, in milliseconds since 1970. 1 for all runs: a world without a run has the time 0. */
  readonly fromMs: number
  /** Says why the text is not used. Empty if it is. */
  readonly fault: string
}

/**
 * Returns the meaning of the parameter `since`: the name of a window that ends now, or an instant. An empty text is the last hour, as is
 * any other text, which has a fault.
 */
export const parseSince = (text: string, nowMs: number): Since => {
  const fromMs = parseInstant(text)
  if (!Number.isNaN(fromMs)) return { value: new Date(fromMs).toISOString(), fromMs: Math.max(1, fromMs), fault: '' }
  const found = windows.find(({ name }) => name === text)
  const { name, lengthMs } = found ?? defaultWindow
  const names = windows.map((each) => each.name).join(', ')
  const isKnown = found !== undefined || text === ''
  return {
    value: name,
    fromMs: Math.max(1, nowMs - lengthMs),
    fault: isKnown ? '' : `${text} is not a time. Use ${names} or an instant such as 2026-11-28T14:00:00Z.`,
  }
}

/** Returns the parameter `since` for a choice, which is empty for the default window. */
export const toSince = (value: string): string => (value === defaultWindow.name ? '' : value)

/**
 * Returns the instant from which on no run of these worlds was requested yet. It follows the newest request, whose time is that of the
 * API: a browser whose clock is ahead would count no run. Without a run it is a minute before the time of the browser.
 */
export const fromNowOn = (rows: Iterable<Row>, nowMs: number): string => {
  let newestMs = 0
  for (const { startedAtMs } of rows) newestMs = Math.max(newestMs, startedAtMs)
  return new Date(newestMs === 0 ? nowMs - minuteMs : newestMs + 1).toISOString()
}
