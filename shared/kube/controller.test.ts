import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createController, type Reconcile, TerminalError } from './controller.ts'
import { KubeError } from './errors.ts'
import { silentLog } from './log.ts'
import { createKubeMetrics } from './metrics.ts'

const startController = (reconcile: Reconcile, { workers = 2 } = {}) => {
  const clock = createFakeClock()
  const registry = new Registry()
  const warned: object[] = []
  const controller = createController({
    name: 'things',
    workers,
    reconcile,
    reconcileTimeoutMs: 1_000,
    clock,
    log: { ...silentLog, warn: (fields) => warned.push(fields), error: (fields) => warned.push(fields) },
    backoff: { baseMs: 5, maxMs: 500 },
    shutdownMs: 200,
    metrics: createKubeMetrics(registry),
  })
  const stop = new AbortController()
  const running = controller.run(stop.signal)
  return { clock, controller, registry, warned, running, stop: () => stop.abort() }
}

/** Waits until the callbacks that are due now have run. */
const runDueCallbacks = () => new Promise<void>((resolve) => setImmediate(resolve))

test('reconciles a key once each time it is enqueued', async () => {
  const seen: string[] = []
  const { clock, controller } = startController(async (key) => void seen.push(key))
  controller.enqueue('home/a')
  await runDueCallbacks()
  clock.advance(10_000_000)
  await runDueCallbacks()
  expect(seen).toEqual(['home/a'])
})

test('reconciles without metrics', async () => {
  const seen: string[] = []
  const stop = new AbortController()
  const clock = createFakeClock()
  const reconcile: Reconcile = async (key) => void seen.push(key)
  const controller = createController({
    name: 'x',
    workers: 1,
    reconcile,
    reconcileTimeoutMs: 1,
    clock,
    log: silentLog,
  })
  const running = controller.run(stop.signal)
  controller.enqueue('a')
  await runDueCallbacks()
  stop.abort()
  await running
  expect(seen).toEqual(['a'])
})

test('reconciles different keys concurrently, but never one key twice at a time', async () => {
  let underWay = 0
  let most = 0
  const starts = new Map<string, number>()
  const release: (() => void)[] = []
  const { controller } = startController(async (key) => {
    starts.set(key, (starts.get(key) ?? 0) + 1)
    underWay += 1
    most = Math.max(most, underWay)
    await new Promise<void>((resolve) => release.push(resolve))
    underWay -= 1
    return undefined
  })
  controller.enqueue('a')
  controller.enqueue('b')
  await runDueCallbacks()
  controller.enqueue('a')
  await runDueCallbacks()
  expect(starts.get('a')).toBe(1)
  for (const go of release.splice(0)) go()
  await runDueCallbacks()
  expect([most, starts.get('a'), starts.get('b')]).toEqual([2, 2, 1])
})

test('repeats a reconcile after the requeueAfterMs that it returns', async () => {
  const atMs: number[] = []
  const { clock, controller } = startController(async () => {
    atMs.push(clock.monotonic())
    return atMs.length < 3 ? { requeueAfterMs: 1_000 } : undefined
  })
  controller.enqueue('a')
  for (let step = 0; step < 50; step += 1) {
    await runDueCallbacks()
    clock.advance(100)
  }
  expect(atMs).toEqual([0, 1_000, 2_000])
})

test('repeats a reconcile with the priority that it returns', async () => {
  const seen: string[] = []
  const busy = Promise.withResolvers<undefined>()
  const { clock, controller } = startController(
    async (key) => {
      seen.push(key)
      if (key === 'busy') return busy.promise
      return seen.length === 1 ? { requeueAfterMs: 100, priority: 'low' } : undefined
    },
    { workers: 1 },
  )
  controller.enqueue('later')
  await runDueCallbacks()
  controller.enqueue('busy')
  await runDueCallbacks()
  clock.advance(100)
  controller.enqueue('sooner')
  busy.resolve(undefined)
  await runDueCallbacks()
  expect(seen).toEqual(['later', 'busy', 'sooner', 'later'])
})

test('retries failures with exponential backoff, which a success resets', async () => {
  const atMs: number[] = []
  const { clock, controller } = startController(async () => {
    atMs.push(clock.monotonic())
    if (atMs.length !== 4) throw new Error('no')
    return { requeueAfterMs: 100 }
  })
  controller.enqueue('a')
  for (let step = 0; step < 145; step += 1) {
    await runDueCallbacks()
    clock.advance(1)
  }
  expect(atMs).toEqual([0, 5, 15, 35, 135, 140])
})

test('retries after the Retry-After of the API server', async () => {
  const atMs: number[] = []
  const { clock, controller } = startController(async () => {
    atMs.push(clock.monotonic())
    if (atMs.length === 1) throw new KubeError({ message: 'busy', status: 429, retryAfterMs: 3_000 })
    return undefined
  })
  controller.enqueue('a')
  for (let step = 0; step < 40; step += 1) {
    await runDueCallbacks()
    clock.advance(100)
  }
  expect(atMs).toEqual([0, 3_000])
})

test('retries a conflict after the base backoff without a warning', async () => {
  const atMs: number[] = []
  const { clock, controller, warned } = startController(async () => {
    atMs.push(clock.monotonic())
    if (atMs.length === 1) throw new KubeError({ message: 'changed', status: 409, reason: 'Conflict' })
    return undefined
  })
  controller.enqueue('a')
  await runDueCallbacks()
  clock.advance(5)
  await runDueCallbacks()
  expect(atMs).toEqual([0, 5])
  expect(warned).toEqual([])
})

test('logs and counts a terminal error, and does not retry it', async () => {
  let runs = 0
  const { clock, controller, warned, registry } = startController(async () => {
    runs += 1
    throw new TerminalError('the spec is wrong')
  })
  controller.enqueue('a')
  await runDueCallbacks()
  clock.advance(10_000_000)
  await runDueCallbacks()
  expect(runs).toBe(1)
  expect(warned).toMatchObject([{ controller: 'things', key: 'a', err: { message: 'the spec is wrong' } }])
  expect(await registry.metrics()).toContain(
    'controller_runtime_terminal_reconcile_errors_total{controller="things"} 1',
  )
})

test('aborts and retries a reconcile that exceeds its timeout', async () => {
  let runs = 0
  const { clock, controller, warned } = startController(async (_key, { signal }) => {
    runs += 1
    if (runs > 1) return undefined
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('cut'))))
  })
  controller.enqueue('a')
  await runDueCallbacks()
  clock.advance(1_000)
  await runDueCallbacks()
  expect(warned).toMatchObject([{ key: 'a', err: { message: 'the reconcile took longer than 1000 ms' } }])
  clock.advance(5)
  await runDueCallbacks()
  expect(runs).toBe(2)
})

test('finishes running reconciles on shutdown and drops queued keys', async () => {
  const seen: string[] = []
  const release: (() => void)[] = []
  const { controller, running, stop } = startController(
    async (key) => {
      await new Promise<void>((resolve) => release.push(resolve))
      return void seen.push(key)
    },
    { workers: 1 },
  )
  controller.enqueue('a')
  controller.enqueue('b')
  await runDueCallbacks()
  stop()
  await runDueCallbacks()
  for (const go of release.splice(0)) go()
  await running
  expect(seen).toEqual(['a'])
})

test('aborts a reconcile that outlasts the shutdown timeout, and then ends without it', async () => {
  const signals: AbortSignal[] = []
  const { clock, controller, running, stop, warned } = startController(async (_key, { signal }) => {
    signals.push(signal)
    await new Promise(() => {})
    return undefined
  })
  controller.enqueue('a')
  await runDueCallbacks()
  stop()
  await runDueCallbacks()
  expect(signals[0]?.aborted).toBe(false)
  clock.advance(200)
  await runDueCallbacks()
  expect(signals[0]?.aborted).toBe(true)
  clock.advance(1_000)
  await running
  expect(warned).toMatchObject([{ reconciles: 1 }])
})

test('exports metrics with the names and labels of controller-runtime', async () => {
  const { clock, controller, registry } = startController(async (key) => {
    if (key === 'bad') throw new Error('no')
    return key === 'later' ? { requeueAfterMs: 60_000 } : undefined
  })
  for (const key of ['good', 'bad', 'later']) controller.enqueue(key)
  await runDueCallbacks()
  clock.advance(1)
  const text = await registry.metrics()
  for (const line of [
    'controller_runtime_reconcile_total{controller="things",result="success"} 1',
    'controller_runtime_reconcile_total{controller="things",result="requeue_after"} 1',
    'controller_runtime_reconcile_total{controller="things",result="error"} 1',
    'controller_runtime_reconcile_errors_total{controller="things"} 1',
    'controller_runtime_max_concurrent_reconciles{controller="things"} 2',
    'controller_runtime_active_workers{controller="things"} 0',
    'controller_runtime_reconcile_time_seconds_count{controller="things"} 3',
    'workqueue_adds_total{name="things",controller="things"} 3',
    'workqueue_retries_total{name="things",controller="things"} 2',
    'workqueue_depth{name="things",controller="things"} 0',
    'workqueue_queue_duration_seconds_count{name="things",controller="things"} 3',
    'workqueue_work_duration_seconds_count{name="things",controller="things"} 3',
    'workqueue_unfinished_work_seconds{name="things",controller="things"} 0',
  ]) {
    expect(text).toContain(line)
  }
})
