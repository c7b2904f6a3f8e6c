import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import type { Client, ObjectInput } from './client.ts'
import { KubeError } from './errors.ts'
import { createEventRecorder, type EventInput, type EventLimits, eventResource } from './events.ts'
import { silentLog } from './log.ts'
import { createKubeMetrics } from './metrics.ts'
import type { KubeObject } from './objects.ts'
import { thing } from './testing/things.ts'

const runDueCallbacks = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve))
}

const startRecorder = (limits: Partial<EventLimits> = {}, isBusy?: () => boolean) => {
  const clock = createFakeClock(Date.UTC(2026, 0, 1))
  const created: ObjectInput[] = []
  const patched: { name: string; patch: object }[] = []
  const answer = { fails: 0, silent: false }
  const respond = async (): Promise<KubeObject> => {
    if (answer.silent) return new Promise<KubeObject>(() => {})
    if (answer.fails === 0) return thing('event', '1')
    throw new KubeError({ message: 'no', status: answer.fails })
  }
  const client: Pick<Client<KubeObject>, 'create' | 'patch'> = {
    create: (sent) => {
      created.push(sent)
      return respond()
    },
    patch: ({ name }, patch) => {
      patched.push({ name, patch })
      return respond()
    },
  }
  const registry = new Registry()
  const recorder = createEventRecorder({
    client,
    controller: 'example.test/things',
    instance: 'here',
    clock,
    random: () => 0,
    log: silentLog,
    limits,
    metrics: createKubeMetrics(registry).events,
  })
  const stop = new AbortController()
  const running = recorder.run(stop.signal, isBusy)
  return { clock, created, patched, answer, recorder, registry, running, stop: () => stop.abort() }
}

const ready: EventInput = { type: 'Normal', reason: 'Ready', action: 'Start', note: 'It is ready.' }
const lamp = thing('lamp', '7')

test('creates one event about the object in the format of events.k8s.io/v1', async () => {
  const { created, patched, recorder } = startRecorder()
  recorder.record(lamp, ready)
  await runDueCallbacks()
  expect(patched).toEqual([])
  expect(created).toEqual([
    {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: expect.stringMatching(/^lamp\.[0-9a-f]+$/), namespace: 'home' },
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'example.test/things',
      reportingInstance: 'here',
      type: 'Normal',
      reason: 'Ready',
      action: 'Start',
      note: 'It is ready.',
      regarding: {
        apiVersion: 'example.test/v1',
        kind: 'Thing',
        namespace: 'home',
        name: 'lamp',
        uid: 'uid-lamp',
        resourceVersion: '7',
      },
    },
  ])
  expect(eventResource).toMatchObject({ group: 'events.k8s.io', version: 'v1' })
})

test('counts repetitions in the series of one event, written at the second one and then once a minute', async () => {
  const { clock, created, patched, recorder } = startRecorder()
  for (let second = 0; second < 180; second += 1) {
    recorder.record(lamp, ready)
    await runDueCallbacks()
    clock.advance(1_000)
  }
  expect(created).toHaveLength(1)
  expect(patched.map(({ patch }) => patch)).toEqual([
    { series: { count: 2, lastObservedTime: '2026-01-01T00:00:01.000000Z' } },
    { series: { count: 62, lastObservedTime: '2026-01-01T00:01:01.000000Z' } },
    { series: { count: 122, lastObservedTime: '2026-01-01T00:02:01.000000Z' } },
  ])
  expect(new Set(patched.map(({ name }) => name))).toEqual(new Set([created[0]?.metadata.name]))
})

test('creates another event for another object, type, reason or action, and after six quiet minutes', async () => {
  const { clock, created, recorder } = startRecorder()
  recorder.record(lamp, ready)
  recorder.record(thing('door', '1'), ready)
  recorder.record(lamp, { ...ready, type: 'Warning' })
  recorder.record(lamp, { ...ready, reason: 'Other' })
  recorder.record(lamp, { ...ready, action: 'Other' })
  await runDueCallbacks()
  clock.advance(360_001)
  recorder.record(lamp, ready)
  await runDueCallbacks()
  expect(created).toHaveLength(6)
})

test('creates another event for another note, so that kubectl shows the current one', async () => {
  const { created, patched, recorder } = startRecorder()
  for (const host of ['10.0.0.1', '10.0.0.2', '10.0.0.1']) {
    recorder.record(lamp, { ...ready, note: `It is ready at ${host}.` })
    await runDueCallbacks()
  }
  expect(created.map(({ note }) => note)).toEqual(['It is ready at 10.0.0.1.', 'It is ready at 10.0.0.2.'])
  expect(patched).toHaveLength(1)
})

test('drops and counts events beyond the queue limit while the server is silent', async () => {
  const { answer, created, recorder, registry } = startRecorder({ queued: 3 })
  answer.silent = true
  for (let index = 0; index < 10; index += 1) recorder.record(thing(`t${index}`, '1'), ready)
  await runDueCallbacks()
  expect(created).toHaveLength(1)
  expect(await registry.metrics()).toContain('events_dropped_total 7')
})

test('drops an event that the server refuses, and creates a new one at the next occurrence', async () => {
  const { answer, created, patched, recorder } = startRecorder()
  answer.fails = 500
  recorder.record(lamp, ready)
  await runDueCallbacks()
  answer.fails = 0
  recorder.record(lamp, ready)
  await runDueCallbacks()
  answer.fails = 404
  recorder.record(lamp, ready)
  await runDueCallbacks()
  answer.fails = 0
  recorder.record(lamp, ready)
  await runDueCallbacks()
  expect(created).toHaveLength(3)
  expect(patched).toHaveLength(1)
})

test('writes ten events a second after a burst', async () => {
  const { clock, created, recorder } = startRecorder({ burst: 5 })
  for (let index = 0; index < 100; index += 1) recorder.record(thing(`t${index}`, '1'), ready)
  await runDueCallbacks()
  expect(created).toHaveLength(5)
  for (let passed = 0; passed < 1_000; passed += 50) {
    clock.advance(50)
    await runDueCallbacks()
  }
  expect(created).toHaveLength(15)
})

test('writes a hundred events a second while nothing else is to be done, and ten otherwise', async () => {
  let isBusy = true
  const { clock, created, recorder } = startRecorder({ burst: 5 }, () => isBusy)
  for (let index = 0; index < 2_000; index += 1) recorder.record(thing(`t${index}`, '1'), ready)
  const pass = async (seconds: number): Promise<number> => {
    const before = created.length
    for (let passed = 0; passed < seconds * 1_000; passed += 10) {
      clock.advance(10)
      await runDueCallbacks()
    }
    return created.length - before
  }
  await runDueCallbacks()
  expect(await pass(5)).toBe(50)
  isBusy = false
  expect(await pass(1)).toBeGreaterThan(90)
  expect(await pass(1)).toBe(100)
  isBusy = true
  expect(await pass(5)).toBeLessThan(60)
  isBusy = false
  await pass(20)
  expect(created).toHaveLength(2_000)
})

test('forgets the oldest series beyond the limit, and creates a new event for it', async () => {
  const { created, patched, recorder } = startRecorder({ series: 2 })
  for (const name of ['a', 'b', 'c', 'a']) {
    recorder.record(thing(name, '1'), ready)
    await runDueCallbacks()
  }
  expect([created.length, patched.length]).toEqual([4, 0])
})

test('cuts a note over 1,024 bytes between characters', async () => {
  const { created, recorder } = startRecorder()
  recorder.record(lamp, { ...ready, note: '€'.repeat(1_000) })
  await runDueCallbacks()
  expect(created[0]?.note).toBe('€'.repeat(340))
})

test('ends when it is stopped, even with events in the queue', async () => {
  const { answer, recorder, running, stop } = startRecorder()
  await runDueCallbacks()
  stop()
  recorder.record(lamp, ready)
  await running
  answer.silent = true
})
