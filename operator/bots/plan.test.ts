import { describe, expect, test } from 'vitest'
import {
  aBot,
  active,
  at,
  aWorld,
  carriedOut,
  condition,
  exited,
  leaving,
  made,
  planFor,
  ready,
  readyBots,
  removed,
  runA,
  runB,
  type Scene,
  settings,
  settle,
  someBots,
  startedIn,
  startMs,
} from './fixtures.ts'
import { shareOf } from './limit.ts'
import type { BotPod } from './pod.ts'
import { burst } from './step.ts'

const three = someBots(3, startedIn(runA))

describe('the phase and what is awaited', () => {
  const noImage = { ...settings, image: undefined }
  const expired = { spec: { durationMinutes: 1 }, ...startedIn(runA) }
  const going = { deletionTimestamp: at(startMs), finalizers: ['orrery.dev/api'] }
  test.each<[string, Scene, string, string, string]>([
    ['no world', { bots: someBots(3), world: undefined }, 'Pending', 'WorldNotFound', 'does not exist'],
    [
      'a new world',
      { bots: someBots(3), world: aWorld({ phase: 'Inactive' }) },
      'Pending',
      'WorldNotActive',
      'Inactive',
    ],
    [
      'a starting world',
      { bots: someBots(3), world: aWorld({ phase: 'Starting', runId: runA }) },
      'Pending',
      'WorldNotActive',
      'Starting',
    ],
    ['an Active world', { bots: someBots(3) }, 'Starting', 'Starting', '0 of 3 bots are ready'],
    [
      'some Ready bots',
      { bots: three, pods: [...readyBots(2), aBot(2)] },
      'Starting',
      'Starting',
      '2 of 3 bots are ready',
    ],
    ['all bots Ready', { bots: three, pods: readyBots(3) }, 'Running', 'BotsReady', ''],
    ['a count of 0', { bots: someBots(0) }, 'Running', 'NoBotsWanted', ''],
    ['no image', { bots: three, settings: noImage }, 'Starting', 'NoImage', 'ORRERY_DEFAULT_BOT_IMAGE'],
    [
      'a server that is away',
      { bots: three, world: aWorld({ phase: 'Active', runId: runA }) },
      'Starting',
      'Starting',
      "waiting for the world's server",
    ],
    [
      'a stranger of that name',
      { bots: three, pods: [aBot(1, { metadata: { ownerReferences: [] } })] },
      'Starting',
      'PodNameTaken',
      'the pod bot-1-1 belongs to something else',
    ],
    [
      'a bot that fails',
      { bots: three, pods: [...readyBots(2), aBot(2, { status: exited(3) })] },
      'Starting',
      'Starting',
      'bot 2 failed: it ended with exit code 3',
    ],
    [
      'all given up',
      { bots: someBots(2, startedIn(runA, { failedIndexes: '0-1', failure: 'bot 1 failed: so' })) },
      'Error',
      'RestartBudget',
      '2 bots failed more often than 3 restarts allow; bot 1 failed: so',
    ],
    [
      'all done',
      { bots: someBots(2, startedIn(runA, { completedIndexes: '0-1' })) },
      'Stopped',
      'Completed',
      'ended by themselves',
    ],
    [
      'bots that stop with a world',
      { bots: three, world: aWorld({ phase: 'Stopped', runId: runA }), pods: readyBots(2) },
      'Stopping',
      'WorldEnded',
      'waiting for 2 bots to stop',
    ],
    [
      'bots that stopped with it',
      { bots: three, world: aWorld({ phase: 'Stopped', runId: runA }) },
      'Stopped',
      'WorldEnded',
      'the bots start with its next one',
    ],
    [
      'a world in Error',
      { bots: three, world: aWorld({ phase: 'Error', runId: runA }) },
      'Stopped',
      'WorldEnded',
      'run is over',
    ],
    [
      'a world that starts again',
      { bots: three, world: aWorld({ phase: 'Starting', runId: runB }) },
      'Pending',
      'WorldNotActive',
      'Starting',
    ],
    [
      'a world that starts again before all have gone',
      { bots: three, world: aWorld({ phase: 'Starting', runId: runB }), pods: [aBot(0, leaving)] },
      'Stopping',
      'WorldNotActive',
      'waiting for 1 bot to stop',
    ],
    [
      'a duration that is over',
      { bots: someBots(3, expired), nowMs: startMs + 60_000 },
      'Stopped',
      'Expired',
      'the duration',
    ],
    [
      'a deletion',
      { bots: someBots(3, { metadata: going, ...startedIn(runA) }), pods: [aBot(0, leaving)] },
      'Stopping',
      'Deleting',
      'being deleted: waiting for 1 bot to stop',
    ],
    [
      'a deletion that is done',
      { bots: someBots(3, { metadata: going, ...startedIn(runA) }) },
      'Stopped',
      'Deleting',
      'being deleted',
    ],
  ])('%s', (_, scene, phase, reason, message) => {
    const planned = planFor(scene)
    expect(planned.status).toMatchObject({ phase, observedGeneration: 1, observedRevision: 4 })
    expect(planned.status.message ?? '').toContain(message)
    expect(condition(planned, 'Ready')).toMatchObject({ reason, status: phase === 'Running' ? 'True' : 'False' })
  })

  test.each<[string, BotPod['status'], string]>([
    [
      'Unschedulable',
      { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', message: '0/1 nodes' }] },
      '0/1 nodes',
    ],
    [
      'ImagePullFailed',
      waits('ImagePullBackOff', 'Back-off pulling image "x": ErrImagePull: not found'),
      'pulled: not found',
    ],
    ['ImagePullFailed', waits('ErrImagePull', 'not found'), 'pulled: not found'],
    ['ContainerCannotStart', waits('CreateContainerError', 'no such file'), 'no such file'],
  ])('a bot that needs help is told, lowest first, as %s', (reason, status, text) => {
    const planned = planFor({
      bots: three,
      pods: [aBot(2, { status }), aBot(0, { status: ready })],
    })
    expect(condition(planned, 'Degraded')).toMatchObject({
      status: 'True',
      reason,
      message: expect.stringContaining(`bot 2: `),
    })
    expect(planned.status.message).toContain(text)
  })
})

describe('bots that start', () => {
  test('are made by index, for the run and the address of the world, once the run is recorded', () => {
    const recorded = planFor({ bots: someBots(3) })
    expect(recorded).toMatchObject({
      steps: [],
      requeueAfterMs: 0,
      status: { run: { id: runA, startedAt: at(startMs) } },
    })
    const planned = planFor(carriedOut({ bots: someBots(3) }, recorded))
    expect(planned.steps).toEqual(
      [0, 1, 2].map((index) => ({
        verb: 'createPod',
        bot: { index, restarts: 0, runId: runA, address: '10.0.0.7:7777' },
      })),
    )
  })

  test('wait for the pod that still has their name', () => {
    const pods = [aBot(0, leaving), aBot(1, { run: runB }), aBot(2, { metadata: { ownerReferences: [] } })]
    const planned = planFor({ bots: three, pods })
    expect([made(planned), removed(planned)]).toEqual([[], [1]])
  })

  test('are made in bursts, and the next plan goes on', () => {
    const world = aWorld({ ...active().status }, { profile: 'Capacity10000' })
    const planned = planFor({ bots: someBots(10_000, startedIn(runA)), world })
    expect(made(planned)).toEqual(Array.from({ length: burst }, (_, index) => index))
    expect(planned.requeueAfterMs).toBeLessThan(1_000)
  })
})

describe('a change of the count', () => {
  test.each([
    ['up makes the missing ones', 5, [3, 4], []],
    ['down keeps the lowest', 1, [], [1, 2]],
    ['to 0 keeps none', 0, [], [0, 1, 2]],
    ['to the same does nothing', 3, [], []],
  ])('%s', (_, count, makes, removes) => {
    const planned = planFor({ bots: someBots(count, startedIn(runA)), pods: readyBots(3) })
    expect([made(planned), removed(planned)]).toEqual([makes, removes])
  })

  test('forgets how the bots ended that are not wanted any more', () => {
    const run = startedIn(runA, { failedIndexes: '1-2', completedIndexes: '0', failure: 'so' })
    const { status } = planFor({ bots: someBots(1, run) })
    expect(status.run).toEqual({ id: runA, startedAt: at(startMs), completedIndexes: '0' })
  })
})

describe('a bot that ends', () => {
  const failing = (restarts = 0, ranForMs = 1_000) => [
    aBot(0, { restarts, status: exited(3, ranForMs) }),
    aBot(1, { status: ready }),
  ]
  const two = someBots(2, startedIn(runA))

  test('with 0 is remembered before its pod is deleted, and is not made again', () => {
    const pods = [aBot(0, { status: exited(0) }), aBot(1, { status: ready })]
    const recorded = planFor({ bots: two, pods })
    expect(recorded).toMatchObject({ steps: [], requeueAfterMs: 0, status: { run: { completedIndexes: '0' } } })
    const end = settle({ bots: two, pods })
    expect(end.pods).toHaveLength(1)
    expect(end.bots.status).toMatchObject({ phase: 'Running', ready: 1 })
  })

  test('with anything else is counted before its pod is deleted, and made again after a wait that doubles', () => {
    const first = planFor({ bots: two, pods: failing() })
    expect(first.steps).toEqual([])
    expect(first.status.run?.restarting).toEqual([{ indexes: '0', restarts: 1, after: at(startMs + 1_000) }])
    const waiting = settle({ bots: two, pods: failing() })
    expect(waiting.pods).toHaveLength(1)
    expect(planFor(waiting)).toMatchObject({ steps: [], requeueAfterMs: 1_000 })
    const again = planFor({ ...waiting, nowMs: startMs + 1_000 })
    expect(again.steps).toMatchObject([{ bot: { index: 0, restarts: 1 } }])
    const second = planFor({ bots: two, pods: failing(1) })
    expect(second.status.run?.restarting).toEqual([{ indexes: '0', restarts: 2, after: at(startMs + 2_000) }])
  })

  test('too often is given up alone, and all of them given up are an Error', () => {
    const one = settle({ bots: two, pods: failing(3) })
    expect(one.pods).toHaveLength(1)
    const planned = planFor(one)
    expect(planned.status).toMatchObject({ phase: 'Running', ready: 1, run: { failedIndexes: '0' } })
    expect(condition(planned, 'Degraded')).toMatchObject({ status: 'True', reason: 'RestartBudget' })
    expect(condition(planned, 'Ready')?.status).toBe('False')
    const all = settle({ ...one, pods: [aBot(1, { restarts: 3, status: exited(3) })] })
    expect(all).toMatchObject({ pods: [], bots: { status: { phase: 'Error' } } })
    expect(all.bots.status?.message).toContain('exit code 3')
  })

  test('after it ran for long has its earlier failures forgotten', () => {
    const planned = planFor({ bots: two, pods: failing(3, settings.restartRefillMs) })
    expect(planned.status.run?.restarting).toMatchObject([{ restarts: 1 }])
  })

  test.each([
    ['the cluster took it away', active(), { phase: 'Failed', reason: 'Evicted' }],
    ['its world has no server', aWorld({ phase: 'Active', runId: runA }), exited(1)],
    ['its world moved', active(runA, '10.0.0.8'), exited(1)],
  ] as const)('is not counted where %s', (_, world, status) => {
    const planned = planFor({ bots: two, world, pods: [aBot(0, { status })] })
    expect(removed(planned)).toEqual([0])
    expect(planned.status.run?.restarting).toBeUndefined()
  })

  test('together with thousands is one entry', () => {
    const world = aWorld({ ...active().status }, { profile: 'Capacity10000' })
    const pods = Array.from({ length: 10_000 }, (_, index) => aBot(index, { status: exited(1) }))
    const { status } = planFor({ bots: someBots(10_000, startedIn(runA)), world, pods: pods.reverse() })
    expect(status.run?.restarting).toMatchObject([{ indexes: '0-9999', restarts: 1 }])
    expect(status.run?.failure).toContain('bot 0')
  })
})

describe('the run of the world', () => {
  test('takes its bots along when it ends, and they are made anew in the next', () => {
    const running = { bots: three, pods: readyBots(3) }
    const stopped = settle({ ...running, world: aWorld({ phase: 'Stopped', runId: runA }) })
    expect(stopped).toMatchObject({ pods: [], bots: { status: { phase: 'Stopped' } } })
    const next = settle({ ...stopped, world: active(runB), nowMs: startMs + 5_000 })
    expect(next.pods?.map(({ metadata }) => metadata.labels?.['orrery.dev/run'])).toEqual([runB, runB, runB])
    expect(next.bots.status).toMatchObject({ startedAt: at(startMs + 5_000), run: { id: runB } })
  })

  test('that is another one replaces all bots, even where the end of the first was never seen', () => {
    const planned = planFor({ bots: three, pods: readyBots(3), world: active(runB) })
    expect([made(planned), removed(planned)]).toEqual([[], [0, 1, 2]])
    expect(planned.status.run?.id).toBe(runB)
  })

  test('keeps its bots while its server restarts, and replaces those that would not find it', () => {
    const away = planFor({ bots: three, pods: readyBots(3), world: aWorld({ phase: 'Active', runId: runA }) })
    expect(away.steps).toEqual([])
    const moved = planFor({ bots: three, pods: readyBots(3), world: active(runA, 'fd00::7') })
    expect(removed(moved)).toEqual([0, 1, 2])
    const again = settle({ bots: three, world: active(runA, 'fd00::7') })
    expect(again.pods?.[0]?.metadata.annotations).toMatchObject({
      'orrery.dev/world-address': expect.stringContaining('[fd00::7]'),
    })
  })
})

describe('the duration', () => {
  const limited = someBots(3, { spec: { durationMinutes: 1 }, ...startedIn(runA) })
  test('never ends early, and stops all bots', () => {
    expect(planFor({ bots: limited, pods: readyBots(3), nowMs: startMs + 59_999 })).toMatchObject({
      ...{ steps: [], requeueAfterMs: 1, status: { phase: 'Running' } },
    })
    const over = planFor({ bots: limited, pods: readyBots(3), nowMs: startMs + 60_000 })
    expect(removed(over)).toEqual([0, 1, 2])
    expect(over.status).toMatchObject({
      phase: 'Stopping',
      run: { endReason: 'Expired', endedAt: at(startMs + 60_000) },
    })
  })

  test('that is over stays over in that run, also when it is extended or the clock goes back', () => {
    const over = settle({ bots: limited, pods: readyBots(3), nowMs: startMs + 60_000 })
    const extended = { ...over.bots, spec: { ...over.bots.spec, durationMinutes: 60 } }
    expect(settle({ ...over, bots: extended, nowMs: startMs }).pods).toEqual([])
    expect(settle({ ...over, world: active(runB) }).pods).toHaveLength(3)
  })
})

describe('maxBotsPerWorld', () => {
  const sibling = (name: string, count: number, createdMs: number, status?: object) =>
    someBots(count, { metadata: { name, uid: name, creationTimestamp: at(createdMs) }, ...(status ? { status } : {}) })
  const bots = someBots(5, startedIn(runA))
  const older = sibling('older', 8, startMs - 1_000)
  const younger = sibling('younger', 8, startMs + 1_000)

  test.each([
    ['alone within it', [bots], 5],
    ['beside a younger one', [bots, younger], 5],
    ['beside an older one', [bots, older], 2],
    ['beside an older one that takes all', [bots, sibling('older', 10, startMs - 1)], 0],
    ['beside one of the same second, by name', [bots, sibling('bot-0', 8, startMs)], 2],
    [
      'beside one that is over in this run',
      [bots, sibling('older', 8, startMs - 1, { phase: 'Error', ...startedIn(runA).status })],
      5,
    ],
    [
      'beside one that was over in an earlier run',
      [bots, sibling('older', 8, startMs - 1, { phase: 'Error', ...startedIn(runB).status })],
      2,
    ],
    [
      'beside one that is being deleted',
      [bots, { ...older, metadata: { ...older.metadata, deletionTimestamp: at(startMs) } }],
      5,
    ],
  ])('%s, whatever the order in which they are seen', (_, siblings, allowed) => {
    expect(shareOf(bots, siblings, active()).allowed).toBe(allowed)
    expect(shareOf(bots, siblings.toReversed(), active()).allowed).toBe(allowed)
  })

  test('exceeded keeps the lowest bots, and says so as a condition', () => {
    const planned = planFor({ bots, siblings: [bots, older], pods: readyBots(5) })
    expect(removed(planned)).toEqual([2, 3, 4])
    expect(planned.status).toMatchObject({ phase: 'Running', ready: 2 })
    expect(condition(planned, 'LimitExceeded')).toMatchObject({ status: 'True', reason: 'MaxBotsPerWorld' })
    expect(planned.status.message).toContain('2 of 5 bots may run')
    expect(condition(planned, 'Ready')?.status).toBe('False')
  })

  test('with no room at all leaves it Pending, and neither run nor duration begins', () => {
    const waiting = someBots(5)
    const planned = planFor({ bots: waiting, siblings: [waiting, sibling('older', 10, startMs - 1)] })
    expect(planned.status).toMatchObject({ phase: 'Pending', ready: 0 })
    expect([planned.status.run, planned.status.startedAt]).toEqual([undefined, undefined])
  })
})

test('a paused deployment is left alone, and says so', () => {
  const paused = someBots(0, { metadata: { annotations: { 'orrery.dev/paused': 'true' } }, ...startedIn(runA) })
  const planned = planFor({ bots: paused, pods: readyBots(3) })
  expect(planned.steps).toEqual([])
  expect(planned.status.message).toContain('paused')
})

test('a deletion makes nothing, and takes no pod of a stranger', () => {
  const metadata = { deletionTimestamp: at(startMs) }
  const pods = [aBot(0), aBot(1, leaving), aBot(2, { metadata: { ownerReferences: [] } })]
  const planned = planFor({ bots: someBots(5, { metadata, ...startedIn(runA) }), pods })
  expect([made(planned), removed(planned)]).toEqual([[], [0]])
})

function waits(reason: string, message: string): BotPod['status'] {
  return { phase: 'Pending', containerStatuses: [{ state: { waiting: { reason, message } } }] }
}
