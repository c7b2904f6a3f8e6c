import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createController, type Reconcile, TerminalError } from './controller.ts'
import { KubeError } from './errors.ts'
import { silentLog } from './log.ts'
import { createKubeMetrics } from './metrics.ts'

const aController = (reconcile: Reconcile, { workers = 2 } = {}) => {
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

/** Lets what is due now happen. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

test('a key is reconciled, and again only when something adds it', async () => {
  const seen: string[] = []
  const { clock, controller } = aController(async (key) => void seen.push(key))
  controller.enqueue('home/a')
  await settled()
  clock.advance(10_000_000)
  await settled()
  expect(seen).toEqual(['home/a'])
})

test('a controller without metrics reconciles just the same', async () => {
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
  await settled()
  stop.abort()
  await running
  expect(seen).toEqual(['a'])
})

test('one key is never reconciled twice at a time, different keys are', async () => {
  let underWay = 0
  let most = 0
  const starts = new Map<string, number>()
  const release: (() => void)[] = []
  const { controller } = aController(async (key) => {
    starts.set(key, (starts.get(key) ?? 0) + 1)
    underWay += 1
    most = Math.max(most, underWay)
    await new Promise<void>((resolve) => release.push(resolve))
    underWay -= 1
    return undefined
  })
  controller.enqueue('a')
  controller.enqueue('b')
  await settled()
  controller.enqueue('a')
  await settled()
  expect(starts.get('a')).toBe(1)
  for (const go of release.splice(0)) go()
  await settled()
  expect([most, starts.get('a'), starts.get('b')]).toEqual([2, 2, 1])
})

test('a reconcile that asks for it is repeated after that time', async () => {
  const atMs: number[] = []
  const { clock, controller } = aController(async () => {
    atMs.push(clock.monotonic())
    return atMs.length < 3 ? { requeueAfterMs: 1_000 } : undefined
  })
  controller.enqueue('a')
  for (let step = 0; step < 50; step += 1) {
    await settled()
    clock.advance(100)
  }
  expect(atMs).toEqual([0, 1_000, 2_000])
})

test('a failure is repeated with growing waits, and a success begins anew', async () => {
  const atMs: number[] = []
  const { clock, controller } = aController(async () => {
    atMs.push(clock.monotonic())
    if (atMs.length !== 4) throw new Error('no')
    return { requeueAfterMs: 100 }
  })
  controller.enqueue('a')
  for (let step = 0; step < 145; step += 1) {
    await settled()
    clock.advance(1)
  }
  expect(atMs).toEqual([0, 5, 15, 35, 135, 140])
})

test('a server that names a time is asked again after it', async () => {
  const atMs: number[] = []
  const { clock, controller } = aController(async () => {
    atMs.push(clock.monotonic())
    if (atMs.length === 1) throw new KubeError({ message: 'busy', status: 429, retryAfterMs: 3_000 })
    return undefined
  })
  controller.enqueue('a')
  for (let step = 0; step < 40; step += 1) {
    await settled()
    clock.advance(100)
  }
  expect(atMs).toEqual([0, 3_000])
})

test('a conflict is repeated at once and is nothing to warn of', async () => {
  const atMs: number[] = []
  const { clock, controller, warned } = aController(async () => {
    atMs.push(clock.monotonic())
    if (atMs.length === 1) throw new KubeError({ message: 'changed', status: 409, reason: 'Conflict' })
    return undefined
  })
  controller.enqueue('a')
  await settled()
  clock.advance(5)
  await settled()
  expect(atMs).toEqual([0, 5])
  expect(warned).toEqual([])
})

test('a terminal error is logged and counted, and not repeated', async () => {
  let runs = 0
  const { clock, controller, warned, registry } = aController(async () => {
    runs += 1
    throw new TerminalError('the spec is wrong')
  })
  controller.enqueue('a')
  await settled()
  clock.advance(10_000_000)
  await settled()
  expect(runs).toBe(1)
  expect(warned).toMatchObject([{ controller: 'things', key: 'a', err: { message: 'the spec is wrong' } }])
  expect(await registry.metrics()).toContain(
    'controller_runtime_terminal_reconcile_errors_total{controller="things"} 1',
  )
})

test('a reconcile that takes too long is told so, and repeated', async () => {
  let runs = 0
  const { clock, controller, warned } = aController(async (_key, { signal }) => {
    runs += 1
    if (runs > 1) return undefined
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('cut'))))
  })
  controller.enqueue('a')
  await settled()
  clock.advance(1_000)
  await settled()
  expect(warned).toMatchObject([{ key: 'a', err: { message: 'the reconcile took longer than 1000 ms' } }])
  clock.advance(5)
  await settled()
  expect(runs).toBe(2)
})

test('a shutdown lets a reconcile under way finish, and drops what waits', async () => {
  const seen: string[] = []
  const release: (() => void)[] = []
  const { controller, running, stop } = aController(
    async (key) => {
      await new Promise<void>((resolve) => release.push(resolve))
      return void seen.push(key)
    },
    { workers: 1 },
  )
  controller.enqueue('a')
  controller.enqueue('b')
  await settled()
  stop()
  await settled()
  for (const go of release.splice(0)) go()
  await running
  expect(seen).toEqual(['a'])
})

test('a shutdown aborts a reconcile that does not end, and then ends without it', async () => {
  const signals: AbortSignal[] = []
  const { clock, controller, running, stop, warned } = aController(async (_key, { signal }) => {
    signals.push(signal)
    await new Promise(() => {})
    return undefined
  })
  controller.enqueue('a')
  await settled()
  stop()
  await settled()
  expect(signals[0]?.aborted).toBe(false)
  clock.advance(200)
  await settled()
  expect(signals[0]?.aborted).toBe(true)
  clock.advance(1_000)
  await running
  expect(warned).toMatchObject([{ reconciles: 1 }])
})

test('the measures bear the names and labels of controller-runtime', async () => {
  const { clock, controller, registry } = aController(async (key) => {
    if (key === 'bad') throw new Error('no')
    return key === 'later' ? { requeueAfterMs: 60_000 } : undefined
  })
  for (const key of ['good', 'bad', 'later']) controller.enqueue(key)
  await settled()
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
