import type { Clock } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'
import { isConflict, KubeError } from './errors.ts'
import type { KubeMetrics } from './metrics.ts'
import { type Backoff, createQueue } from './queue.ts'

/** What a reconcile asks for: to look again after a while, or (nothing) only when something changes. */
export type Result = { requeueAfterMs?: number } | undefined

/** Brings one object from what is to what is wanted, from scratch each time. */
export type Reconcile = (key: string, signal: AbortSignal) => Promise<Result>

/** Works off keys with a number of workers; one key is never reconciled twice at a time. */
export type Controller = {
  enqueue(key: string, options?: { lowPriority?: boolean }): void
  /** Runs until the signal is aborted, then lets reconciles under way finish. */
  run(signal: AbortSignal): Promise<void>
}

const defaultBackoff: Backoff = { baseMs: 5, maxMs: 1_000_000 }

/** A controller, with the result mapping of controller-runtime: an error is retried with backoff, a success forgotten. */
export const createController = (options: {
  name: string
  workers: number
  reconcile: Reconcile
  reconcileTimeoutMs: number
  clock: Clock
  log: Log
  backoff?: Backoff
  metrics?: KubeMetrics
}): Controller => {
  const { name, clock, log, metrics } = options
  const queue = createQueue({
    clock,
    backoff: options.backoff ?? defaultBackoff,
    onAdd: () => metrics?.queueAdd(name),
    onRetry: () => metrics?.queueRetry(name),
  })
  metrics?.watchDepth(name, () => queue.depth())

  const settle = (key: string, result: Result): 'success' | 'requeue_after' => {
    queue.forget(key)
    if (result?.requeueAfterMs === undefined) return 'success'
    queue.addAfter(key, result.requeueAfterMs)
    return 'requeue_after'
  }
  const fail = (key: string, error: unknown): 'error' => {
    if (isConflict(error))
      log.debug({ controller: name, key, err: error }, 'reconcile: the object has changed meanwhile')
    else log.warn({ controller: name, key, err: error }, 'reconcile: failed and is tried again')
    const retryAfterMs = error instanceof KubeError ? error.retryAfterMs : undefined
    if (retryAfterMs === undefined) queue.addRateLimited(key)
    else queue.addAfter(key, retryAfterMs)
    return 'error'
  }
  const work = async (): Promise<void> => {
    for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
      const startedMs = clock.monotonic()
      let outcome: 'success' | 'requeue_after' | 'error'
      try {
        outcome = settle(key, await options.reconcile(key, AbortSignal.timeout(options.reconcileTimeoutMs)))
      } catch (error) {
        outcome = fail(key, error)
      } finally {
        queue.done(key)
      }
      metrics?.reconciled(name, outcome, (clock.monotonic() - startedMs) / 1000)
    }
  }
  return {
    enqueue: (key, lane) => queue.add(key, lane),
    run: async (signal) => {
      if (signal.aborted) queue.shutDown()
      else signal.addEventListener('abort', () => queue.shutDown(), { once: true })
      await Promise.all(Array.from({ length: options.workers }, work))
    },
  }
}
