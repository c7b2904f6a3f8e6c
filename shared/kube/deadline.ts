import { KubeError } from './errors.ts'

/** A signal with a time limit. Its reason is a `KubeError`: Timeout, or Aborted if the caller's signal aborted. */
export type Deadline = {
  readonly signal: AbortSignal
  readonly remainingMs: () => number
  /** Restarts the time limit. */
  restart(): void
  /** Releases the timer and the caller's signal. */
  clear(): void
}

/** Creates a deadline `timeoutMs` from now that also ends with the caller's signal. Error messages start with `what`. */
export const createDeadline = (what: string, timeoutMs: number, caller?: AbortSignal): Deadline => {
  const controller = new AbortController()
  let dueAtMs = performance.now() + timeoutMs
  const fail = (reason: 'Timeout' | 'Aborted', why: string): void =>
    controller.abort(new KubeError({ message: `${what}: ${why}`, status: 0, reason }))
  const timer = setTimeout(() => fail('Timeout', `no data for ${timeoutMs} ms`), timeoutMs)
  // AbortSignal.any would leak: it stays registered at a signal that lives as long as the process.
  const abort = (): void => fail('Aborted', 'aborted by the caller')
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
