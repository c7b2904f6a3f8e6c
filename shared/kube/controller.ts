import { type Clock, sleep } from '#shared/clock.ts'
import { withDefined } from '#shared/optional.ts'
import { isConflict, KubeError } from './errors.ts'
import { type KubeLog, withFields } from './log.ts'
import type { ControllerMetrics, KubeMetrics, Outcome } from './metrics.ts'
import type { Pace } from './pace.ts'
import { type Backoff, createQueue, type Priority, type Queue } from './queue.ts'

/** The result of a reconcile: undefined, or the time after which to reconcile the key again, by default with normal priority. */
export type Result = { requeueAfterMs?: number; priority?: Priority } | undefined

/** A fault that retries cannot fix. It is logged and counted, and its key is not retried until an event adds it. */
export class TerminalError extends Error {
  override name = 'TerminalError'
}

/** The context of a reconcile. */
export type ReconcileContext = {
  /** Aborted at the time limit of the reconcile and at the end of a shutdown. */
  readonly signal: AbortSignal
  /** Logs with the controller's name and the key. */
  readonly log: KubeLog
}

/** Brings an object to its desired state. It relies on no earlier call. */
export type Reconcile = (key: string, context: ReconcileContext) => Promise<Result>

/** A work loop over keys. It never reconciles one key twice at a time. */
export type Controller = {
  enqueue(key: string, options?: { priority?: Priority; afterMs?: number }): void
  /** Runs until the signal aborts, then lets reconciles in progress finish within a limit. Call it once. */
  run(signal: AbortSignal): Promise<void>
  /** Returns the number of keys that wait for a worker. */
  depth(): number
}

const defaultBackoff: Backoff = { baseMs: 5, maxMs: 1_000_000 }
const defaultShutdownMs = 10_000
/** Time that an aborted reconcile has to end at a shutdown before it is abandoned. */
const abortedMs = 1_000

type Options = {
  name: string
  workers: number
  reconcile: Reconcile
  reconcileTimeoutMs: number
  clock: Clock
  log: KubeLog
  backoff?: Backoff
  /** The rate of one key. Without it, there is no limit. */
  pace?: Pace
  /** Time that a shutdown waits for reconciles in progress before it aborts their signals. */
  shutdownMs?: number
  metrics?: KubeMetrics
}

/**
 * Creates a controller with the result mapping of controller-runtime: success resets the backoff and requeues after
 * `requeueAfterMs` if set; an error is retried with backoff or after the server's Retry-After; a `TerminalError` is not.
 */
export const createController = (options: Options): Controller => {
  const { name, clock, workers } = options
  const log = withFields(options.log, { controller: name })
  const metrics = options.metrics?.controller(name, workers)
  const queueMetrics = options.metrics?.queue(name)
  const queue = createQueue({
    clock,
    backoff: options.backoff ?? defaultBackoff,
    // With at least one worker for others, no namespace takes all of several workers.
    reserve: workers > 1 ? Math.ceil(workers / 5) : 0,
    ...withDefined({ metrics: queueMetrics, pace: options.pace }),
  })
  const attempts = createAttempts(options, log, metrics)
  const settle = createSettle(queue, log, metrics)
  const work = async (): Promise<void> => {
    for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
      const finished = metrics?.startReconcile()
      let outcome: Outcome = 'error'
      try {
        outcome = settle.success(key, await attempts.run(key))
      } catch (error) {
        settle.failure(key, error)
      } finally {
        finished?.(outcome)
        queue.done(key)
      }
    }
  }
  return {
    enqueue: (key, { priority = 'normal', afterMs } = {}) => {
      if (afterMs === undefined) queue.add(key, { priority })
      else queue.addAfter(key, afterMs)
    },
    run: async (signal) => {
      const finished = new AbortController()
      const all = Promise.all(Array.from({ length: workers }, work)).then(() => finished.abort())
      await untilAborted(signal)
      queue.shutDown()
      await sleep(clock, options.shutdownMs ?? defaultShutdownMs, finished.signal)
      attempts.abort('the controller is shutting down')
      await Promise.race([all, sleep(clock, abortedMs, finished.signal)])
      if (attempts.count() > 0)
        log.warn({ reconciles: attempts.count() }, 'shutdown: abandoned reconciles that did not end')
    },
    depth: () => queue.depth(),
  }
}

/** Creates the set of reconciles in progress, each with its time limit. */
const createAttempts = (options: Options, log: KubeLog, metrics: ControllerMetrics | undefined) => {
  const { clock, reconcile, reconcileTimeoutMs } = options
  const underWay = new Set<AbortController>()
  return {
    run: async (key: string): Promise<Result> => {
      const abort = new AbortController()
      const timer = clock.setTimeout(() => {
        metrics?.countTimeout()
        abort.abort(`the reconcile took longer than ${reconcileTimeoutMs} ms`)
      }, reconcileTimeoutMs)
      underWay.add(abort)
      try {
        return await reconcile(key, { signal: abort.signal, log: withFields(log, { key }) })
      } catch (error) {
        throw abort.signal.aborted ? new Error(String(abort.signal.reason), { cause: error }) : error
      } finally {
        timer.cancel()
        underWay.delete(abort)
      }
    },
    abort: (why: string): void => {
      for (const each of underWay) each.abort(why)
    },
    count: (): number => underWay.size,
  }
}

/** Creates the functions that requeue or forget a key after its reconcile. */
const createSettle = (queue: Queue, log: KubeLog, metrics: ControllerMetrics | undefined) => ({
  success: (key: string, result: Result): Outcome => {
    queue.forget(key)
    if (result?.requeueAfterMs === undefined) return 'success'
    queue.addAfter(key, result.requeueAfterMs, withDefined({ priority: result.priority }))
    return 'requeue_after'
  },
  failure: (key: string, error: unknown): void => {
    if (error instanceof TerminalError) {
      metrics?.countTerminalError()
      queue.forget(key)
      log.error({ key, err: error }, 'reconcile failed, will not retry')
      return
    }
    if (isConflict(error)) log.debug({ key, err: error }, 'reconcile conflicted, will retry')
    else log.warn({ key, err: error }, 'reconcile failed, will retry')
    const retryAfterMs = error instanceof KubeError ? error.retryAfterMs : undefined
    if (retryAfterMs === undefined) queue.addRateLimited(key)
    else queue.addAfter(key, retryAfterMs)
  },
})

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
