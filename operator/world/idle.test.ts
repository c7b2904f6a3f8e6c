import { describe, expect, test } from 'vitest'
import { findCondition } from '#operator/lifecycle/events.ts'
import type { Pod } from '#operator/pods/pod.ts'
import { at, runA, runB, startMs } from '#operator/testing/common.ts'
import {
  answered,
  aPod,
  applyStatus,
  asked,
  aWorld,
  captured,
  conditionOf,
  foreign,
  notReady,
  planFor,
  ready,
  running,
  silent,
  stopped,
  verbs,
} from '#operator/testing/world.ts'
import { isAsleep } from '#shared/domain/idle.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import type { World, WorldSpecInput } from '#shared/resources/world.ts'
import { worldEvents } from './events.ts'
import { keepsAwake } from './idle.ts'
import type { QueryResult } from './query/answer.ts'
import type { Plan, PlanInput } from './step.ts'

const minuteMs = 60_000
const idleMinutes = 15
const sleepy: WorldSpecInput = { ...running, idleStopMinutes: idleMinutes }
const server = aPod({ status: ready(startMs) })
const waiting = answered(0, 2)
const empty = answered(0)
const impossible: QueryResult = {
  kind: 'answered',
  queue: { active: 0, queued: 0 },
  note: 'The server reported -1 players, so 0 are shown.',
  isUncertain: true,
}
/** The sleep of a world in which nobody is since `afterMs` after the start of its run. */
const clockFrom = (afterMs: number, minutes = idleMinutes) => ({
  since: at(startMs + afterMs),
  sleepsAt: at(startMs + afterMs + minutes * minuteMs),
})

type Around = Partial<PlanInput> & { readonly pod?: Pod | undefined }

/** Plans a world `afterMs` after the start of its run. Its last poll was answered just now, by default that nobody is in it. */
const planAt = (world: World, afterMs: number, { pod, ...around }: Around = {}): Plan =>
  planFor(world, pod ?? server, startMs + afterMs, runB, { queried: empty, ...around })
/** Returns the world with the status of that plan. */
const see = (world: World, afterMs: number, around?: Around): World =>
  applyStatus(world, planAt(world, afterMs, around))
const idleAt = (world: World, afterMs: number, around?: Around) => planAt(world, afterMs, around).status.idle
const edit = (world: World, spec: Partial<World['spec']>): World => ({
  ...world,
  metadata: { ...world.metadata, generation: (world.metadata.generation ?? 0) + 1 },
  spec: { ...world.spec, ...spec },
})
/** The world in which nobody is since it became Active, and the one that sleeps since `idleMinutes` later. */
const activeWorld = (spec = sleepy): World => see(captured(spec), 0, { queried: undefined })
const sleepsMs = idleMinutes * minuteMs
const asleepWorld = (): World => see(activeWorld(), sleepsMs)

describe('the time since which nobody is in a world', () => {
  test('begins when it becomes Active, before its first answer, and is written with that status', () => {
    expect(idleAt(captured(sleepy), 5_000, { queried: undefined })).toEqual(clockFrom(5_000))
  })

  test('is absent without idleStopMinutes', () => {
    expect(planAt(captured(running), 5_000).status).not.toHaveProperty('idle')
  })

  test.each<[string, Around]>([
    ['its server is not Ready', { pod: aPod({ status: notReady(startMs) }) }],
    ['it has no server', { pod: aPod({ run: runB, status: ready() }) }],
  ])('is absent while %s', (_, around) => {
    expect(idleAt(captured(sleepy), 5_000, around)).toBeUndefined()
  })

  test('stays until it sleeps, over further answers and a restart of the operator', () => {
    for (const queried of [undefined, empty]) {
      expect(planAt(activeWorld(), 10 * minuteMs, { queried }).status).toEqual(activeWorld().status)
    }
  })

  test.each<[string, Around]>([
    ['the last player left', { queried: answered(3) }],
    ['the last player who waited left', { queried: waiting }],
    ['its bots went', { hasBots: true }],
    ['its counts came back', { queried: silent }],
  ])('begins anew when %s', (_, before) => {
    const awake = see(activeWorld(), minuteMs, before)
    expect(awake.status?.idle).not.toHaveProperty('since')
    expect(idleAt(awake, 2 * minuteMs)).toEqual(clockFrom(2 * minuteMs))
  })

  test('begins anew with another pod, and when the server is Ready again', () => {
    const next = aPod({ uid: 'next-uid', status: ready(startMs + minuteMs) })
    expect(idleAt(activeWorld(), minuteMs, { pod: next })).toEqual(clockFrom(minuteMs))
    const unready = see(activeWorld(), minuteMs, { pod: aPod({ status: notReady(startMs + minuteMs) }) })
    expect(unready.status).not.toHaveProperty('idle')
    expect(idleAt(unready, 2 * minuteMs)).toEqual(clockFrom(2 * minuteMs))
  })

  test('is at most now, so that a clock that was ahead keeps no world awake', () => {
    const ahead = see(captured(sleepy), 365 * 24 * 60 * minuteMs)
    const back = see(ahead, minuteMs)
    expect(back.status?.idle).toEqual(clockFrom(minuteMs))
    expect(planAt(back, 2 * minuteMs).status).toEqual(back.status)
  })

  test('begins anew after a pause, in which players may have come', () => {
    const annotations = { 'orrery.dev/paused': 'true' }
    const world = activeWorld()
    const pausedWorld = see({ ...world, metadata: { ...world.metadata, annotations } }, minuteMs)
    expect(pausedWorld.status).toMatchObject({ phase: 'Active' })
    expect(pausedWorld.status).not.toHaveProperty('idle')
    expect(idleAt({ ...pausedWorld, metadata: world.metadata }, 20 * minuteMs)).toEqual(clockFrom(20 * minuteMs))
  })

  test('is absent, with its condition, while the world is paused', () => {
    const unknown = see(activeWorld(), minuteMs, { queried: silent })
    const annotations = { 'orrery.dev/paused': 'true' }
    const pausedWorld = see({ ...unknown, metadata: { ...unknown.metadata, annotations } }, 2 * minuteMs)
    expect(pausedWorld.status).not.toHaveProperty('idle')
    expect(conditionOf(pausedWorld.status ?? {}, 'Idle')).toBe('undefined/undefined')
  })
})

describe('a world is kept awake', () => {
  test.each<[string, Around, string]>([
    ['by players', { queried: answered(3) }, 'Players'],
    ['by players before those who wait', { queried: answered(3, 1), hasBots: true }, 'Players'],
    ['by players who wait', { queried: waiting, hasBots: true }, 'WaitingPlayers'],
    ['by bots', { hasBots: true }, 'Bots'],
    ['by bots before unknown counts', { queried: silent, hasBots: true }, 'Bots'],
    ['by bots before the first answer', { queried: undefined, hasBots: true }, 'Bots'],
    ['by a server that does not answer', { queried: silent }, 'UnknownCounts'],
    ['by a server that answers otherwise', { queried: foreign }, 'UnknownCounts'],
    ['by a server whose counts are not possible', { queried: impossible }, 'UnknownCounts'],
  ])('%s', (_, around, keptAwakeBy) => {
    const awake = see(activeWorld(), minuteMs, around)
    expect(awake.status?.idle).toEqual({ keptAwakeBy })
    const later = planAt(awake, 100 * minuteMs, around)
    expect([later.steps, later.status]).toEqual([[], awake.status])
  })

  test('by a server that cannot be asked', () => {
    const unasked = captured(asked(undefined, false))
    const world = see(edit(unasked, { idleStopMinutes: idleMinutes }), minuteMs, { queried: undefined })
    expect(world.status?.idle).toEqual({ keptAwakeBy: 'UnknownCounts' })
    expect(findCondition(world.status ?? {}, 'Idle')?.message).toBe(
      'The world does not sleep, because its server does not say its players. Restart the world: probes and runtime.query act from its next run.',
    )
    expect(planAt(world, 100 * minuteMs, { queried: undefined }).status).toEqual(world.status)
  })

  test.each<[string, Around]>([
    ['players', { queried: answered(3, 1) }],
    ['players who wait', { queried: waiting }],
    ['unknown counts', { queried: silent }],
    ['impossible counts', { queried: impossible }],
  ])('by %s until a restarted operator has an answer, and nothing is written meanwhile', (_, around) => {
    const awake = see(activeWorld(), minuteMs, around)
    const restarted = planAt(awake, 100 * minuteMs, { queried: undefined })
    expect(restarted.status).toEqual(awake.status)
    expect(restarted.requeueAfterMs).toBeUndefined()
  })

  test('with a condition that says why it never sleeps, only while its counts are unknown', () => {
    const condition = (world: World) => conditionOf(world.status ?? {}, 'Idle')
    const unknown = see(activeWorld(), minuteMs, { queried: silent })
    expect(condition(unknown)).toBe('Unknown/UnknownCounts')
    expect(findCondition(unknown.status ?? {}, 'Idle')?.message).toBe(
      'The world does not sleep, because its server does not say its players. Let GET /readyz answer {"active": n, "queued": n} as JSON, or set runtime.query for its next run.',
    )
    const queried = see(captured({ ...asked({}), idleStopMinutes: idleMinutes }), minuteMs, { queried: silent })
    expect(findCondition(queried.status ?? {}, 'Idle')?.message).toBe(
      'The world does not sleep, because its server does not say its players. The server has not answered.',
    )
    expect(conditionOf(unknown.status ?? {}, 'Degraded')).toBe('False/AsExpected')
    expect(findCondition(see(activeWorld(), minuteMs, { queried: impossible }).status ?? {}, 'Idle')?.message).toBe(
      'The world does not sleep, because its server does not say its players. The server reported -1 players, so 0 are shown.',
    )
    for (const around of [{}, { queried: answered(3) }, { queried: silent, hasBots: true }]) {
      expect(condition(see(unknown, 2 * minuteMs, around))).toBe('undefined/undefined')
    }
  })
})

describe('a run ends', () => {
  test('when nobody was in its world for idleStopMinutes, with the reason Idle, and its server stops', () => {
    const planned = planAt(activeWorld(), sleepsMs)
    expect(verbs(planned)).toEqual(['deletePod'])
    expect(planned.status).toMatchObject({
      phase: 'Stopped',
      message: 'Nobody was in the world for 15 minutes. Waiting for the server to stop.',
      idle: { since: at(startMs), asleepSince: at(startMs + sleepsMs) },
      run: { id: runA, endReason: 'Idle', endedAt: at(startMs + sleepsMs) },
      deployment: { status: 'Stopping' },
    })
    expect(conditionOf(planned.status, 'Ready')).toBe('False/Idle')
    expect(worldEvents(activeWorld(), planned.status, planned)).toEqual([
      { type: 'Normal', reason: 'Idle', action: 'EndRun', note: 'Nobody was in the world for 15 minutes.' },
    ])
  })

  test('with a message in the singular after 1 minute', () => {
    const world = activeWorld({ ...sleepy, idleStopMinutes: 1 })
    expect(planAt(world, minuteMs).status.run?.endMessage).toBe('Nobody was in the world for 1 minute.')
  })

  test('not a millisecond before, and is planned again then', () => {
    expect(planAt(activeWorld(), sleepsMs - 1)).toMatchObject({ steps: [], requeueAfterMs: 1 })
  })

  test.each<[string, Around]>([
    ['before an answer of this process', { queried: undefined, answerAgeMs: Number.POSITIVE_INFINITY }],
    ['if its last answer is from before that time', { answerAgeMs: minuteMs + 1 }],
    ['if its last answer is older than 10 seconds', { answerAgeMs: 10_001 }],
    ['if its last poll was not answered', { answerAgeMs: Number.POSITIVE_INFINITY }],
  ])('not %s, and is not planned again for it', (_, around) => {
    const planned = planAt(activeWorld(), sleepsMs + minuteMs, around)
    expect(planned.steps).toEqual([])
    expect(planned.status).toEqual(activeWorld().status)
    expect(planned.requeueAfterMs).toBeUndefined()
  })

  test.each<[string, Around]>([
    ['a player came', { queried: answered(1) }],
    ['a player waits', { queried: waiting }],
    ['bots came', { hasBots: true }],
    ['its server does not answer', { queried: silent }],
    ['its counts are not possible', { queried: impossible }],
    ['its server is not Ready', { pod: aPod({ status: notReady(startMs + sleepsMs) }) }],
    ['its pod is another one', { pod: aPod({ uid: 'next-uid', status: ready(startMs) }) }],
  ])('not if %s at that time', (_, around) => {
    const { steps, status } = planAt(activeWorld(), sleepsMs, around)
    expect([steps, status.run?.endReason]).toEqual([[], undefined])
  })

  test('not without a time on record, however long its server is empty', () => {
    const planned = planAt(captured(sleepy), 100 * minuteMs)
    expect(planned.status).toMatchObject({ phase: 'Active', idle: clockFrom(100 * minuteMs) })
  })

  test('as Expired if its duration is over too', () => {
    const world = activeWorld({ ...sleepy, durationMinutes: idleMinutes })
    expect(planAt(world, sleepsMs).status).toMatchObject({ run: { endReason: 'Expired' } })
    expect(planAt(world, sleepsMs).status).not.toHaveProperty('idle')
  })

  test('at once if a shorter idleStopMinutes is over, and later if it is longer or removed', () => {
    const shorter = edit(activeWorld(), { idleStopMinutes: 5 })
    expect(planAt(shorter, 4 * minuteMs).status.idle).toEqual(clockFrom(0, 5))
    expect(planAt(shorter, 6 * minuteMs).status).toMatchObject({
      run: { endReason: 'Idle', endMessage: 'Nobody was in the world for 5 minutes.' },
    })
    const longer = planAt(edit(activeWorld(), { idleStopMinutes: 30 }), 20 * minuteMs)
    expect(longer).toMatchObject({ steps: [], status: { idle: clockFrom(0, 30) }, requeueAfterMs: 10 * minuteMs })
    const { idleStopMinutes: _, ...spec } = activeWorld().spec
    const removed = see({ ...activeWorld(), spec }, 100 * minuteMs)
    expect(removed.status?.phase).toBe('Active')
    expect(removed.status).not.toHaveProperty('idle')
    const again = edit(removed, { idleStopMinutes: idleMinutes })
    expect(idleAt(again, 101 * minuteMs)).toEqual(clockFrom(101 * minuteMs))
  })
})

describe('a world that sleeps', () => {
  const sleeping = (): World => {
    const planned = planFor(asleepWorld(), undefined, startMs + sleepsMs + 1_000)
    return applyStatus(asleepWorld(), planned)
  }
  const laterMs = startMs + 1_000 * minuteMs

  test('shows since when, and writes nothing', () => {
    const { status, spec } = sleeping()
    expect(status).toMatchObject({ phase: 'Stopped', deployment: { status: 'Stopped' } })
    expect(isAsleep({ state: spec.state, phase: status?.phase ?? 'Inactive', idle: status?.idle })).toBe(true)
    const again = planFor(sleeping(), undefined, laterMs)
    expect([again.steps, again.status, again.requeueAfterMs]).toEqual([[], status, undefined])
  })

  test('sleeps on if idleStopMinutes is changed or removed, or if it is paused', () => {
    const { idleStopMinutes: _, ...spec } = sleeping().spec
    const annotations = { 'orrery.dev/paused': 'true' }
    const changes = [
      { spec },
      { spec: { ...spec, idleStopMinutes: 1 } },
      { metadata: { ...sleeping().metadata, annotations } },
    ]
    for (const change of changes) {
      const { steps, status } = planFor({ ...sleeping(), ...change }, undefined, laterMs)
      expect([steps, status.idle]).toEqual([[], sleeping().status?.idle])
    }
  })

  test.each<[string, (world: World) => World]>([
    ['is stopped', (world) => ({ ...world, spec: { ...world.spec, ...stopped } })],
    ['is started again', (world) => ({ ...world, spec: { ...world.spec, runId: runB } })],
    ['is deleted', (world) => ({ ...world, metadata: { ...world.metadata, deletionTimestamp: at(laterMs) } })],
  ])('does not sleep once it %s', (_, change) => {
    const { status } = planFor(change(sleeping()), undefined, laterMs)
    expect(status).not.toHaveProperty('idle')
  })

  test('does not sleep while another run waits for its grant, or for its server to stop', () => {
    const next = { ...asleepWorld(), spec: { ...asleepWorld().spec, runId: runB } }
    const policy = { organization: 'org-00000000000000000000000001' }
    expect(planFor(next, undefined, laterMs, runB, { policy }).status).toMatchObject({
      phase: 'Stopped',
      run: { id: runA, endReason: 'Idle' },
    })
    expect(planFor(next, undefined, laterMs, runB, { policy }).status).not.toHaveProperty('idle')
    expect(planFor(next, server, laterMs).status).not.toHaveProperty('idle')
  })

  test('keeps its end if it is then stopped', () => {
    const world = { ...sleeping(), spec: { ...sleeping().spec, ...stopped } }
    expect(planFor(world, undefined, laterMs).status.run).toMatchObject({ endReason: 'Idle', dismissed: true })
  })

  test('begins another run after a stop and a start, if the operator names runs', () => {
    const { runId: _, ...unnamed } = aWorld(stopped).spec
    const world = applyStatus(sleeping(), planFor({ ...sleeping(), spec: unnamed }, undefined, laterMs))
    const next = planFor({ ...world, spec: { ...unnamed, state: 'Running' } }, undefined, laterMs)
    expect(next.status).toMatchObject({ phase: 'Starting', run: { id: runB } })
  })
})

describe('a bot deployment keeps its world awake', () => {
  const bots = (changes: {
    count?: number
    status?: BotDeployment['status']
    metadata?: Partial<BotDeployment['metadata']>
  }): BotDeployment =>
    ({
      metadata: { name: 'bot-1', ...changes.metadata },
      spec: { worldName: 'wld-1', count: changes.count ?? 2 },
      status: changes.status,
    }) as BotDeployment
  const endedIn = (id: string, phase: 'Stopped' | 'Error' | 'Stopping') => ({
    phase,
    run: { id, startedAt: at(startMs) },
  })

  test.each<[boolean, string, BotDeployment]>([
    [true, 'without a status', bots({})],
    [true, 'while its bots run', bots({ status: { phase: 'Running', run: { id: runA, startedAt: at(startMs) } } })],
    [true, 'while its bots wait', bots({ status: { phase: 'Pending' } })],
    [true, 'while its bots stop', bots({ status: endedIn(runA, 'Stopping') })],
    [true, 'if its bots ended in another run', bots({ status: endedIn(runB, 'Stopped') })],
    [false, 'unless its bots ended in this run', bots({ status: endedIn(runA, 'Stopped') })],
    [false, 'unless its bots failed in this run', bots({ status: endedIn(runA, 'Error') })],
    [false, 'unless it has none', bots({ count: 0 })],
    [false, 'unless it is being deleted', bots({ metadata: { deletionTimestamp: at(startMs) } })],
  ])('(%s) %s', (expected, _, deployment) => {
    expect(keepsAwake(deployment, runA)).toBe(expected)
  })
})
