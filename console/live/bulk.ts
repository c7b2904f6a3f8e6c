import { effect, type ReadonlySignal, signal, untracked } from '@preact/signals'
import { ApiError, type Client } from '#client/client.ts'
import { systemClock } from '#client/retry.ts'
import { sentAtByServer } from '#console/state/bulk/pace.ts'
import type { Plan } from '#console/state/bulk/plan.ts'
import { endProgress, nextPiece, type Progress, repeatProgress, startProgress } from '#console/state/bulk/progress.ts'
import { afterAnswer, afterFailure, firstStep, type Step } from '#console/state/bulk/step.ts'
import type { Failure } from '#console/state/texts.ts'
import { type Credential, session } from './session.ts'

/** An action on many worlds that runs or has ended. Times are milliseconds since 1970. */
export type Bulk = {
  /** The page may show another organization meanwhile. */
  readonly plan: Plan
  readonly progress: Progress
  /** Time of the first request: by the clock of the API, as the starts of runs, once it has answered. Repetitions keep it. */
  readonly startedAtMs: number
  /** `stopping`: the request in flight ends, and none follows. */
  readonly state: 'running' | 'stopping' | 'ended'
  /** The last wait between two requests, with its reason as a sentence. It stays until the next request has an answer. */
  readonly wait: { readonly text: string; readonly untilMs: number } | undefined
  /** The failure that ended the run before all worlds were sent. */
  readonly fault: Failure | undefined
}

const current = signal<Bulk | undefined>(undefined)

/** The action on many worlds that runs, or whose result was not closed yet. At most one. It goes on when the page changes. */
export const bulk: ReadonlySignal<Bulk | undefined> = current

/** The sign-in of the present action, with which it sends its requests. `stopped` ends its waits, `closed` its requests too. */
type Owner = {
  readonly credential: Credential
  readonly client: Client
  /** Time of the first request by the clock of the browser. */
  readonly beganAtMs: number
  readonly closed: AbortController
  /** True once the API has said its time. */
  isTimed: boolean
}
let owner: Owner | undefined
let stopped = new AbortController()

/** Starts an action, and reports whether it began: not while one runs. It replaces the result of one that has ended. */
export const startBulk = (plan: Plan): boolean => {
  const now = session.peek()
  if (isRunning() || now?.organizationId !== plan.organizationId || plan.ids.length === 0) return false
  const beganAtMs = Date.now()
  // In the scope of the organization, a key acts on the worlds of all its projects.
  owner = { credential: now.credential, client: now.client, beganAtMs, closed: new AbortController(), isTimed: false }
  begin(owner, { plan, progress: startProgress(plan), startedAtMs: beganAtMs })
  return true
}

/** Sends no further request. The one in flight ends. */
export const stopBulk = (): void => {
  if (!isRunning()) return
  update({ state: 'stopping' })
  stopped.abort()
}

/**
 * Sends the worlds of a plan again, which are some of the last action. The others keep their outcome. Reports whether it began: not while
 * the action runs.
 */
export const repeatBulk = ({ kind, ids }: Plan): boolean => {
  const last = current.peek()
  if (owner === undefined || last === undefined || isRunning() || last.plan.kind !== kind) return false
  const progress = repeatProgress(last.progress, ids)
  if (nextPiece(progress).length === 0) return false
  begin(owner, { ...last, progress })
  return true
}

/** Forgets the result. Has no effect while the action runs. */
export const closeBulk = (): void => {
  if (!isRunning()) current.value = undefined
}

const isRunning = (): boolean => (current.peek()?.state ?? 'ended') !== 'ended'

const update = (change: Partial<Bulk>): void => {
  const last = current.peek()
  if (last !== undefined) current.value = { ...last, ...change }
}

const begin = (by: Owner, { plan, progress, startedAtMs }: Pick<Bulk, 'plan' | 'progress' | 'startedAtMs'>): void => {
  stopped = new AbortController()
  current.value = { plan, progress, startedAtMs, state: 'running', wait: undefined, fault: undefined }
  void run(by, { step: firstStep(progress), stop: stopped.signal })
}

/** Sends piece after piece. Each request gives its worlds an outcome, or uses one of the attempts of the piece. */
const run = async (by: Owner, { step: first, stop }: { step: Step; stop: AbortSignal }): Promise<void> => {
  let step = first
  while (step.fault === undefined && nextPiece(step.progress).length > 0 && !stop.aborted) {
    step = await send(by, step)
    if (by.closed.signal.aborted) return
    const { progress, wait } = step
    update({ progress, wait: wait && { text: wait.text, untilMs: Date.now() + wait.delayMs } })
    if (wait === undefined || nextPiece(progress).length === 0) continue
    await systemClock.sleep(wait.delayMs, stop)
    if (by.closed.signal.aborted) return
  }
  update({ progress: endProgress(step.progress), state: 'ended', wait: undefined, fault: step.fault })
}

const send = async (by: Owner, step: Step): Promise<Step> => {
  const { client, beganAtMs: atMs, closed } = by
  const body = { action: step.progress.kind, ids: [...nextPiece(step.progress)] }
  try {
    const answer = await client.request('actOnWorlds', { body, signal: closed.signal })
    if (!closed.signal.aborted && !by.isTimed) {
      by.isTimed = true
      update({ startedAtMs: sentAtByServer(answer.headers, { atMs, nowMs: Date.now() }) })
    }
    return afterAnswer(step, answer.body, answer.headers)
  } catch (error) {
    return afterFailure(step, error instanceof ApiError ? error : noAnswer(error))
  }
}

const noAnswer = (error: unknown): Failure => ({
  status: 0,
  code: 'no_answer',
  detail: error instanceof Error ? error.message : '',
  requestId: undefined,
  retryAfterSeconds: undefined,
})

// Nobody may see or go on with the action of an earlier sign-in.
effect(() => {
  const credential = session.value?.credential
  untracked(() => {
    if (owner === undefined || owner.credential === credential) return
    owner.closed.abort()
    stopped.abort()
    owner = undefined
    current.value = undefined
  })
})
