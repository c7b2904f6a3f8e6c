import { type Clock, sleep } from '#shared/clock.ts'
import { isConflict, KubeError } from './errors.ts'
import { type KubeLog, withFields } from './log.ts'
import type { ControllerMetrics, KubeMetrics, Outcome } from './metrics.ts'
import { type Backoff, createQueue, type Queue } from './queue.ts'

/** What a reconcile asks for: to look again after a while, or (nothing) only when something changes. */
export type Result = { requeueAfterMs?: number } | undefined

/** A fault that no repetition mends: it is logged and counted, and its key rests until something changes. */
export class TerminalError extends Error {
  override name = 'TerminalError'
}

/** What a reconcile is given beside its key. */
export type ReconcileContext = {
  /** Aborted when the reconcile takes too long, or when a shutdown will wait no longer. */
  readonly signal: AbortSignal
  /** Bears the controller's name and the key. */
  readonly log: KubeLog
}

/** Brings one object from what is to what is wanted, from scratch each time. */
export type Reconcile = (key: string, context: ReconcileContext) => Promise<Result>

/** Works off keys with a number of workers; one key is never reconciled twice at a time. */
export type Controller = {
  enqueue(key: string, options?: { lowPriority?: boolean; afterMs?: number }): void
  /** Runs, once, until the signal is aborted; then reconciles under way may finish, within a limit. */
  run(signal: AbortSignal): Promise<void>
  /** How many keys wait for a worker. */
  depth(): number
}

const defaultBackoff: Backoff = { baseMs: 5, maxMs: 1_000_000 }
const defaultShutdownMs = 10_000
/** What a reconcile may take, after its signal was aborted at a shutdown, before it is left behind. */
const abortedMs = 1_000

type Options = {
  name: string
  workers: number
  reconcile: Reconcile
  reconcileTimeoutMs: number
  clock: Clock
  log: KubeLog
  backoff?: Backoff
  /** How long a shutdown waits for reconciles under way before it aborts their signals. */
  shutdownMs?: number
  metrics?: KubeMetrics
}

/**
 * A controller, with the result mapping of controller-runtime: success is forgotten, or looked at again after
 * `requeueAfterMs`; an error is tried again with backoff, or after what the server asked for; a `TerminalError` is not.
 */
export const createController = (options: Options): Controller => {
  const { name, clock, workers } = options
  const log = withFields(options.log, { controller: name })
  const metrics = options.metrics?.controller(name, workers)
  const queueMetrics = options.metrics?.queue(name)
  const queue = createQueue({
    clock,
    backoff: options.backoff ?? defaultBackoff,
    ...(queueMetrics ? { metrics: queueMetrics } : {}),
  })
  const attempts = createAttempts(options, log, metrics)
  const settle = createSettle(queue, log, metrics)
  const work = async (): Promise<void> => {
    for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
      const finished = metrics?.started()
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
    enqueue: (key, { lowPriority = false, afterMs } = {}) => {
      if (afterMs === undefined) queue.add(key, { lowPriority })
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
      if (attempts.count() > 0) log.warn({ reconciles: attempts.count() }, 'shutdown: left behind what would not end')
    },
    depth: () => queue.depth(),
  }
}

/** Reconciles under way, each with its time limit. */
const createAttempts = (options: Options, log: KubeLog, metrics: ControllerMetrics | undefined) => {
  const { clock, reconcile, reconcileTimeoutMs } = options
  const underWay = new Set<AbortController>()
  return {
    run: async (key: string): Promise<Result> => {
      const abort = new AbortController()
      const timer = clock.setTimeout(() => {
        metrics?.timedOut()
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

/** What becomes of a key after its reconcile. */
const createSettle = (queue: Queue, log: KubeLog, metrics: ControllerMetrics | undefined) => ({
  success: (key: string, result: Result): Outcome => {
    queue.forget(key)
    if (result?.requeueAfterMs === undefined) return 'success'
    queue.addAfter(key, result.requeueAfterMs)
    return 'requeue_after'
  },
  failure: (key: string, error: unknown): void => {
    if (error instanceof TerminalError) {
      metrics?.failedForGood()
      queue.forget(key)
      log.error({ key, err: error }, 'reconcile: failed, and waits for a change')
      return
    }
    if (isConflict(error)) log.debug({ key, err: error }, 'reconcile: overtaken, and is tried again')
    else log.warn({ key, err: error }, 'reconcile: failed, and is tried again')
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
