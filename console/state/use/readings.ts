import type { WorldMetrics } from '#client/operations.ts'
import { type Fault, toFault } from '../worldLoad.ts'

/** The CPU and memory that a server used at an instant, in milliseconds since 1970 by the clock of the cluster. */
export type Sample = Omit<WorldMetrics, 'sampledAt'> & {
  readonly atMs: number
  /** The number of the line to which the sample belongs. Samples of two servers are never in one line. */
  readonly line: number
}

/** The result of the last reading: a sample, none yet, a cluster without metrics, or a failure. */
type Outcome =
  | { readonly kind: 'none' | 'sample' | 'noSample' | 'absent' }
  | { readonly kind: 'failed'; readonly fault: Fault }

/** The results of the readings of a world's page so far. */
export type Readings = {
  /** Oldest first, of the last 30 minutes. */
  readonly samples: readonly Sample[]
  readonly outcome: Outcome
  /** True if the next sample begins a line. */
  readonly isBroken: boolean
}

/** The readings before the first one. */
export const noReadings: Readings = { samples: [], outcome: { kind: 'none' }, isBroken: true }

/** The time of which samples are kept. */
export const keptMs = 30 * 60_000
/** The most samples that are kept, however short the time between them. */
const maxSamples = keptMs / 15_000 + 1
/** The time between two samples from which on nothing is known about the time between them. A cluster takes one each 15 to 60 s. */
const gapMs = 90_000

/** Returns the readings with a new sample. One that is not newer than the last one changes only the outcome. */
export const withSample = (readings: Readings, { sampledAt, ...use }: WorldMetrics): Readings => {
  const { samples, isBroken } = readings
  const outcome = { kind: 'sample' } as const
  const atMs = Date.parse(sampledAt)
  const last = samples.at(-1)
  if (Number.isNaN(atMs) || (last !== undefined && atMs <= last.atMs)) return { ...readings, outcome }
  const isNew = isBroken || last === undefined || use.externalId !== last.externalId || atMs - last.atMs > gapMs
  const line = (last?.line ?? 0) + (isNew ? 1 : 0)
  const kept = samples.filter((each) => each.atMs >= atMs - keptMs)
  return { samples: [...kept, { ...use, atMs, line }].slice(-maxSamples), outcome, isBroken: false }
}

/** Returns the readings after one that failed. A server without a sample is another one than that of the last sample. */
export const withFailure = (readings: Readings, error: unknown): Readings => {
  const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined
  if (status === 501) return { ...readings, outcome: { kind: 'absent' } }
  if (status === 409) return { ...readings, outcome: { kind: 'noSample' }, isBroken: true }
  return { ...readings, outcome: { kind: 'failed', fault: toFault(error) } }
}

const readingMs = 15_000
/** The delay before metrics are requested again from a cluster that has none. An administrator may install them meanwhile. */
const absentMs = 5 * 60_000

/** Returns the delay before the next reading, or undefined if there is none: one is in progress, the tab is hidden, or no server runs. */
export const delayOfReading = ({
  outcome,
  isReading,
  isHidden,
  hasServer,
  startedAtMs,
  nowMs,
}: {
  readonly outcome: Outcome
  readonly isReading: boolean
  readonly isHidden: boolean
  readonly hasServer: boolean
  readonly startedAtMs: number
  readonly nowMs: number
}): number | undefined => {
  if (isReading || isHidden || !hasServer) return undefined
  const restMs = outcome.kind === 'absent' ? absentMs : readingMs
  return Math.max(0, Math.min(restMs, startedAtMs + restMs - nowMs))
}
