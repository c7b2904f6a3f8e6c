import type { Clock } from '#shared/clock.ts'

/** The wall-clock time, checked against the API server. */
export type ServerTime = {
  /** Records the Date header of a response. A text that is not a date is ignored. */
  observe(date: string): void
  /**
   * Returns milliseconds since the epoch: the time of this machine if it differs from that of the API server by at most 2 s, and
   * otherwise the time of the API server. Before the first response it is the time of this machine.
   */
  now(): number
}

/** A Date header has whole seconds, and the response takes some time. */
const toleranceMs = 2_000
/** After this time, a response replaces the previous one even if it shows an earlier time. */
const freshMs = 60_000

/** Creates a checked time. `differs` is called with the difference when the time of this machine begins to differ. */
export const createServerTime = (
  clock: Pick<Clock, 'now' | 'monotonic'>,
  differs: (aheadMs: number) => void = () => undefined,
): ServerTime => {
  let seen: { readonly offsetMs: number; readonly atMs: number } | undefined
  let agrees = true
  return {
    observe: (date) => {
      const atMs = clock.monotonic()
      const offsetMs = Date.parse(date) - atMs
      // A response only ever arrives late, so the largest offset is the most accurate.
      const isBetter = seen === undefined || offsetMs >= seen.offsetMs || atMs - seen.atMs >= freshMs
      if (isBetter && Number.isFinite(offsetMs)) seen = { offsetMs, atMs }
    },
    now: () => {
      const ownMs = clock.now()
      if (seen === undefined) return ownMs
      const serverMs = seen.offsetMs + clock.monotonic()
      const agreed = Math.abs(ownMs - serverMs) <= toleranceMs
      if (agrees && !agreed) differs(Math.round(ownMs - serverMs))
      agrees = agreed
      return agreed ? ownMs : serverMs
    },
  }
}
