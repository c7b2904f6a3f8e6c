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

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve))
}

const aRecorder = (limits: Partial<EventLimits> = {}) => {
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
    ...{ controller: 'example.test/things', instance: 'here', clock, random: () => 0, log: silentLog, limits },
    metrics: createKubeMetrics(registry).events,
  })
  const stop = new AbortController()
  const running = recorder.run(stop.signal)
  return { clock, created, patched, answer, recorder, registry, running, stop: () => stop.abort() }
}

const ready: EventInput = { type: 'Normal', reason: 'Ready', action: 'Start', note: 'It is ready.' }
const lamp = thing('lamp', '7')

test('an event is written once, as events.k8s.io wants it, about the object', async () => {
  const { created, patched, recorder } = aRecorder()
  recorder.record(lamp, ready)
  await settled()
  expect(patched).toEqual([])
  expect(created).toEqual([
    {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: expect.stringMatching(/^lamp\.[0-9a-f]+$/), namespace: 'home' },
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'example.test/things',
      reportingInstance: 'here',
      ...{ type: 'Normal', reason: 'Ready', action: 'Start', note: 'It is ready.' },
      regarding: {
        ...{ apiVersion: 'example.test/v1', kind: 'Thing', namespace: 'home', name: 'lamp' },
        ...{ uid: 'uid-lamp', resourceVersion: '7' },
      },
    },
  ])
  expect(eventResource).toMatchObject({ group: 'events.k8s.io', version: 'v1' })
})

test('what repeats is one event whose series counts: told at once the second time, then once a minute', async () => {
  const { clock, created, patched, recorder } = aRecorder()
  for (let second = 0; second < 180; second += 1) {
    recorder.record(lamp, ready)
    await settled()
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

test('another object, type, reason or action is another event, and so is the same after six quiet minutes', async () => {
  const { clock, created, recorder } = aRecorder()
  recorder.record(lamp, ready)
  recorder.record(thing('door', '1'), ready)
  recorder.record(lamp, { ...ready, type: 'Warning' })
  recorder.record(lamp, { ...ready, reason: 'Other' })
  recorder.record(lamp, { ...ready, action: 'Other' })
  await settled()
  clock.advance(360_001)
  recorder.record(lamp, ready)
  await settled()
  expect(created).toHaveLength(6)
})

test('another note is another event, so that kubectl shows the present one', async () => {
  const { created, patched, recorder } = aRecorder()
  for (const host of ['10.0.0.1', '10.0.0.2', '10.0.0.1']) {
    recorder.record(lamp, { ...ready, note: `It is ready at ${host}.` })
    await settled()
  }
  expect(created.map(({ note }) => note)).toEqual(['It is ready at 10.0.0.1.', 'It is ready at 10.0.0.2.'])
  expect(patched).toHaveLength(1)
})

test('a server that does not answer blocks nobody; what is too much is dropped and counted', async () => {
  const { answer, created, recorder, registry } = aRecorder({ queued: 3 })
  answer.silent = true
  for (let index = 0; index < 10; index += 1) recorder.record(thing(`t${index}`, '1'), ready)
  await settled()
  expect(created).toHaveLength(1)
  expect(await registry.metrics()).toContain('events_dropped_total 7')
})

test('an event that is refused is lost, and the next one of its kind begins anew', async () => {
  const { answer, created, patched, recorder } = aRecorder()
  answer.fails = 500
  recorder.record(lamp, ready)
  await settled()
  answer.fails = 0
  recorder.record(lamp, ready)
  await settled()
  answer.fails = 404
  recorder.record(lamp, ready)
  await settled()
  answer.fails = 0
  recorder.record(lamp, ready)
  await settled()
  expect(created).toHaveLength(3)
  expect(patched).toHaveLength(1)
})

test('after a burst, events are written ten a second', async () => {
  const { clock, created, recorder } = aRecorder({ burst: 5 })
  for (let index = 0; index < 100; index += 1) recorder.record(thing(`t${index}`, '1'), ready)
  await settled()
  expect(created).toHaveLength(5)
  for (let passed = 0; passed < 1_000; passed += 50) {
    clock.advance(50)
    await settled()
  }
  expect(created).toHaveLength(15)
})

test('series beyond what is remembered begin anew', async () => {
  const { created, patched, recorder } = aRecorder({ series: 2 })
  for (const name of ['a', 'b', 'c', 'a']) {
    recorder.record(thing(name, '1'), ready)
    await settled()
  }
  expect([created.length, patched.length]).toEqual([4, 0])
})

test('a note of more than 1,024 bytes is cut between characters', async () => {
  const { created, recorder } = aRecorder()
  recorder.record(lamp, { ...ready, note: '€'.repeat(1_000) })
  await settled()
  expect(created[0]?.note).toBe('€'.repeat(340))
})

test('a recorder that is stopped ends, whatever still waits', async () => {
  const { answer, recorder, running, stop } = aRecorder()
  await settled()
  stop()
  recorder.record(lamp, ready)
  await running
  answer.silent = true
})
