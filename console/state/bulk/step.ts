import type { Failure } from '../texts.ts'
import { delayByRate, type ResponseHeaders } from './pace.ts'
import { nextPiece, type Progress, withAnswer, withDoubt, withOutcome } from './progress.ts'

/** The attempts of the present piece so far: the sum of its waits for a busy API, and the answers that were lost. */
type Attempts = { readonly waitedMs: number; readonly losses: number }

/** The state of a run after a response. */
export type Step = {
  readonly progress: Progress
  readonly attempts: Attempts
  /** The wait before the next request, with its reason as a sentence. */
  readonly wait?: { readonly text: string; readonly delayMs: number }
  /** The failure that ends the run: each further piece would fail too. */
  readonly fault?: Failure
}

const noAttempts: Attempts = { waitedMs: 0, losses: 0 }

/** Returns the state of a run before its first request. */
export const firstStep = (progress: Progress): Step => ({ progress, attempts: noAttempts })

/** Returns the state after a response with a body, and headers about the rate. */
export const afterAnswer = (step: Step, answer: unknown, headers: ResponseHeaders): Step => {
  const progress = withAnswer(step.progress, nextPiece(step.progress), answer)
  if (progress === undefined) return afterFailure(step, foreignAnswer)
  const delayMs = delayByRate(headers)
  const text = 'Few requests of this sign-in are left.'
  return { ...firstStep(progress), ...(delayMs > 0 && { wait: { text, delayMs } }) }
}

const foreignAnswer: Failure = {
  status: 0,
  code: 'foreign',
  detail: 'The answer is not one of the API. A proxy may have written it.',
  requestId: undefined,
  retryAfterSeconds: undefined,
}

/** The longest sum of waits of one piece for a busy API. The action of another user on thousands of worlds ends before. */
const maxWaitedMs = 600_000
/** The delays after lost answers. A network that comes back after the sleep of a computer needs some seconds. */
const lossDelaysMs = [1_000, 2_000, 4_000, 8_000, 16_000]
const defaultRetrySeconds = 2
const maxReasonLength = 300

/** Returns the state after a request without a result. It is sent again where that does no harm, a bounded number of times. */
export const afterFailure = (step: Step, failure: Failure): Step => {
  const { status, code } = failure
  // The API says so before it changes anything.
  if (status === 429 || (status === 503 && code === 'unavailable')) return afterBusy(step, failure)
  if (status >= 400 && status < 500 && status !== 408) return afterRefusal(step, failure)
  return afterLoss(step, failure)
}

const afterBusy = ({ progress, attempts }: Step, failure: Failure): Step => {
  const delayMs = Math.max(1, failure.retryAfterSeconds ?? defaultRetrySeconds) * 1_000
  const waitedMs = attempts.waitedMs + delayMs
  if (waitedMs > maxWaitedMs) return afterRefusal({ progress, attempts }, failure)
  return { progress, attempts: { ...attempts, waitedMs }, wait: { text: explainBusy(failure), delayMs } }
}

const explainBusy = ({ status, code, detail }: Failure): string => {
  if (status === 503) return 'The API is unavailable at the moment.'
  const reason =
    code === 'rate_limited' ? detail.replace(/ *Retry (after the time in Retry-After|in \d+ s)\.$/, '') : ''
  return reason.slice(0, maxReasonLength) || 'The API takes no more requests at the moment.'
}

const afterRefusal = ({ progress }: Step, fault: Failure): Step => {
  const piece = nextPiece(progress)
  // Of a piece that was sent before, an answer was lost.
  const doubted = piece.filter((id) => progress.doubted.has(id))
  const refused = withOutcome(progress, piece, { kind: 'failed', problem: fault })
  return { ...firstStep(withOutcome(refused, doubted, { kind: 'unknown' })), fault }
}

/**
 * Nobody knows which worlds of the piece were changed. A start, stop or deletion changes nothing where it was done, so it is sent again.
 * A second restart would end the new runs, so it is not.
 */
const afterLoss = ({ progress, attempts }: Step, fault: Failure): Step => {
  const piece = nextPiece(progress)
  const delayMs = progress.kind === 'restart' ? undefined : lossDelaysMs[attempts.losses]
  const doubted = withDoubt(progress, piece)
  if (delayMs === undefined) return { ...firstStep(withOutcome(doubted, piece, { kind: 'unknown' })), fault }
  const text = 'The answer of the API was lost, so the request is sent again. This changes nothing where it was done.'
  return { progress: doubted, attempts: { ...attempts, losses: attempts.losses + 1 }, wait: { text, delayMs } }
}
