import { KubeError } from './errors.ts'

/** A signal with a time limit of its own. Its reason is a `KubeError`: Timeout, or Aborted when the caller gave up. */
export type Deadline = {
  readonly signal: AbortSignal
  readonly remainingMs: () => number
  /** Starts the time anew. */
  restart(): void
  /** Lets go of the timer and of the caller's signal. */
  clear(): void
}

/** A deadline `timeoutMs` from now, or when the caller's signal aborts. `what` begins the sentence of the error. */
export const createDeadline = (what: string, timeoutMs: number, caller?: AbortSignal): Deadline => {
  const controller = new AbortController()
  let dueAtMs = performance.now() + timeoutMs
  const fail = (reason: 'Timeout' | 'Aborted', why: string): void =>
    controller.abort(new KubeError({ message: `${what}: ${why}`, status: 0, reason }))
  const timer = setTimeout(() => fail('Timeout', `nothing came for ${timeoutMs} ms`), timeoutMs)
  // AbortSignal.any would hold on to a signal that lives as long as the process.
  const abort = (): void => fail('Aborted', 'the caller gave up')
  if (caller?.aborted === true) abort()
  else caller?.addEventListener('abort', abort)
  return {
    signal: controller.signal,
    remainingMs: () => dueAtMs - performance.now(),
    restart: () => {
      dueAtMs = performance.now() + timeoutMs
      timer.refresh()
    },
    clear: () => {
      clearTimeout(timer)
      caller?.removeEventListener('abort', abort)
    },
  }
}
