import { explainFailure, type Failure, type FailureText } from './texts.ts'

/** The reason why data could not be loaded. */
export type Fault = FailureText & {
  /** True if the API says that it does not exist, or that the caller may not know. */
  readonly isMissing: boolean
}

/** A part of the page that is loaded: its newest value, and the fault of the newest load if that failed. */
export type Slot<T> = {
  readonly value?: T
  readonly fault?: Fault
  readonly isLoading: boolean
}

/** A slot before its first load. */
export const emptySlot: Slot<never> = { isLoading: true }

/** Returns the slot after a load that failed. It keeps an old value, which is better than none, unless the thing is gone. */
export const withFault = <T>({ value }: Slot<T>, fault: Fault): Slot<T> =>
  value === undefined ? { fault, isLoading: false } : { value, fault, isLoading: false }

/** The shortest time between the starts of two loads. */
const paceMs = 1_000
/** The time between two loads that nothing asks for. Players, bots and most events do not change the world's version in the feed. */
const againMs = 20_000
/** The longest wait for the time at which the API permits another load. */
const maxWaitMs = 300_000

/**
 * Returns the delay before the next load, or undefined if there is none: one is in progress (its end asks again), or the tab is
 * hidden. A load that nothing asks for waits until the API permits it.
 */
export const delayOfLoad = ({
  isWanted,
  isLoading,
  isHidden,
  startedAtMs,
  permittedAtMs,
  nowMs,
}: {
  readonly isWanted: boolean
  readonly isLoading: boolean
  readonly isHidden: boolean
  readonly startedAtMs: number
  readonly permittedAtMs: number
  readonly nowMs: number
}): number | undefined => {
  if (isLoading || isHidden) return undefined
  const restMs = isWanted ? paceMs : againMs
  const waitMs = isWanted ? 0 : Math.min(maxWaitMs, permittedAtMs - nowMs)
  return Math.max(0, Math.min(restMs, startedAtMs + restMs - nowMs), waitMs)
}

/** The difference between the clocks of the browser and the API. */
const clockMarginMs = 60_000

/** Reports whether a version of the feed, which is the time of a change, may be newer than what was read at a time. */
export const mayBeNewer = (version: string, { readAtMs }: { readonly readAtMs: number }): boolean =>
  Date.parse(version) > readAtMs - clockMarginMs

/** Returns the fault of an error of the client. Any other error is that of a request without a response. */
export const toFault = (error: unknown): Fault => {
  const failure = isFailure(error) ? error : noResponse
  return { ...explainFailure(failure), isMissing: failure.status === 404 }
}

const noResponse: Failure = { status: 0, code: '', detail: '', requestId: undefined, retryAfterSeconds: undefined }

const isFailure = (error: unknown): error is Failure =>
  error instanceof Error && error.name === 'ApiError' && 'status' in error && 'detail' in error

/** The part of the page's state that says whether the world exists. */
export type Existence = 'loading' | 'present' | 'deleted' | 'notFound'

/** Returns whether the world exists, from its slot and from whether the feed showed it and shows it now. */
export const existenceOf = (
  { value, fault }: Slot<unknown>,
  feed: { readonly hasShown: boolean; readonly isShown: boolean },
): Existence => {
  const isGone = fault?.isMissing === true && !feed.isShown
  if (isGone) return value !== undefined || feed.hasShown ? 'deleted' : 'notFound'
  if (feed.hasShown && !feed.isShown) return 'deleted'
  return value === undefined && fault === undefined ? 'loading' : 'present'
}
