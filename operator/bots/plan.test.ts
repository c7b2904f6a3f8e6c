import { describe, expect, test } from 'vitest'
import { refusedStatus } from '#operator/lifecycle/conditions.ts'
import { findCondition } from '#operator/lifecycle/events.ts'
import type { Pod } from '#operator/pods/pod.ts'
import {
  aBot,
  active,
  aWorld,
  createdIndexes,
  deletedIndexes,
  executePlan,
  leaving,
  planFor,
  ready,
  readyBots,
  settings,
  settle,
  someBots,
  startedIn,
  type TestInput,
} from '#operator/testing/bots.ts'
import { at, disruptionTarget, exitStatus, runA, runB, startMs } from '#operator/testing/common.ts'
import { withDefined } from '#shared/optional.ts'
import { shareOf } from './limit.ts'
import { maxBurst } from './step.ts'

const three = someBots(3, startedIn(runA))

describe('phase, reason and message', () => {
  const noImage = { ...settings, image: undefined }
  const expired = { spec: { durationMinutes: 1 }, ...startedIn(runA) }
  const going = { deletionTimestamp: at(startMs), finalizers: ['orrery.dev/api'] }
  test.each<[string, TestInput, string, string, string]>([
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
      'a server that is not ready',
      { bots: three, world: aWorld({ phase: 'Active', runId: runA }) },
      'Starting',
      'Starting',
      "Waiting for the world's server.",
    ],
    [
      'a stranger with the name of a bot',
      { bots: three, pods: [aBot(1, { metadata: { ownerReferences: [] } })] },
      'Starting',
      'PodNameTaken',
      'Pod bot-1-1 belongs to another owner.',
    ],
    [
      'a bot that fails',
      { bots: three, pods: [...readyBots(2), aBot(2, { status: exitStatus(3) })] },
      'Starting',
      'Starting',
      '1 bot is waiting to restart; last error: bot 2: the bot failed with exit code 3.',
    ],
    [
      'all bots failed for good',
      {
        bots: someBots(
          2,
          startedIn(runA, { failedIndexes: '0-1', failure: 'Bot 1: the bot failed with exit code 3.' }),
        ),
      },
      'Error',
      'RestartBudget',
      '2 bots failed after 3 restarts; last error: bot 1: the bot failed with exit code 3.',
    ],
    [
      'all bots completed',
      { bots: someBots(2, startedIn(runA, { completedIndexes: '0-1' })) },
      'Stopped',
      'Completed',
      'All bots ended with exit code 0.',
    ],
    [
      'bots that stop with a world',
      { bots: three, world: aWorld({ phase: 'Stopped', runId: runA }), pods: readyBots(2) },
      'Stopping',
      'WorldEnded',
      'Waiting for 2 bots to stop.',
    ],
    [
      'bots that stopped with their world',
      { bots: three, world: aWorld({ phase: 'Stopped', runId: runA }) },
      'Stopped',
      'WorldEnded',
      'The bots start with its next run.',
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
      'a world that starts again before all bots are gone',
      { bots: three, world: aWorld({ phase: 'Starting', runId: runB }), pods: [aBot(0, leaving)] },
      'Stopping',
      'WorldNotActive',
      'Waiting for 1 bot to stop.',
    ],
    [
      'a duration that is over',
      { bots: someBots(3, expired), nowMs: startMs + 60_000 },
      'Stopped',
      'Expired',
      'The duration',
    ],
    [
      'a deletion',
      { bots: someBots(3, { metadata: going, ...startedIn(runA) }), pods: [aBot(0, leaving)] },
      'Stopping',
      'Deleting',
      'being deleted. Waiting for 1 bot to stop.',
    ],
    [
      'a finished deletion',
      { bots: someBots(3, { metadata: going, ...startedIn(runA) }) },
      'Stopped',
      'Deleting',
      'being deleted',
    ],
  ])('%s', (_, input, phase, reason, message) => {
    const planned = planFor(input)
    expect(planned.status).toMatchObject({ phase, observedGeneration: 1, observedRevision: 4 })
    expect(planned.status.message ?? '').toContain(message)
    expect(findCondition(planned.status, 'Ready')).toMatchObject({
      reason,
      status: phase === 'Running' ? 'True' : 'False',
    })
  })

  test.each<[string, Pod['status'], string]>([
    [
      'Unschedulable',
      { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', message: '0/1 nodes' }] },
      '0/1 nodes',
    ],
    ['ImagePullFailed', waits('ImagePullBackOff', 'Back-off pulling image "x": ErrImagePull: not found'), 'not found'],
    ['ImagePullFailed', waits('ErrImagePull', 'not found'), 'not found'],
    ['ContainerCannotStart', waits('CreateContainerError', 'no such file'), 'no such file'],
  ])(
    'reports a bot that waiting does not help as %s, with the message of the cluster only in the detail',
    (reason, status, text) => {
      const planned = planFor({
        bots: three,
        pods: [aBot(2, { status }), aBot(0, { status: ready })],
      })
      expect(findCondition(planned.status, 'Degraded')).toMatchObject({
        status: 'True',
        reason,
        message: expect.stringMatching(/^Bot 2: .*\.$/),
      })
      expect(planned.detail).toContain(text)
      expect(planned.status.message).not.toContain(text)
    },
  )
})

describe('bots that start', () => {
  test('are created by index once the run is recorded', () => {
    const recorded = planFor({ bots: someBots(3) })
    expect(recorded).toMatchObject({
      steps: [],
      requeueAfterMs: 0,
      status: { run: { id: runA, startedAt: at(startMs) } },
    })
    const planned = planFor(executePlan({ bots: someBots(3) }, recorded))
    expect(planned.steps).toEqual(
      [0, 1, 2].map((index) => ({
        verb: 'createPod',
        bot: { index, restarts: 0, runId: runA, address: '10.0.0.7:7777' },
      })),
    )
  })

  test('wait for a pod that still has their name', () => {
    const pods = [aBot(0, leaving), aBot(1, { run: runB }), aBot(2, { metadata: { ownerReferences: [] } })]
    const planned = planFor({ bots: three, pods })
    expect([createdIndexes(planned), deletedIndexes(planned)]).toEqual([[], [1]])
  })

  test('are created in bursts, and the next plan continues', () => {
    const world = aWorld({ ...active().status }, { profile: 'Capacity10000' })
    const planned = planFor({ bots: someBots(10_000, startedIn(runA)), world })
    expect(createdIndexes(planned)).toEqual(Array.from({ length: maxBurst }, (_, index) => index))
    expect(planned.requeueAfterMs).toBeLessThan(1_000)
  })
})

describe('a change of the count', () => {
  test.each([
    ['up creates the missing ones', 5, [3, 4], []],
    ['down keeps the lowest', 1, [], [1, 2]],
    ['to 0 keeps none', 0, [], [0, 1, 2]],
    ['to the same does nothing', 3, [], []],
  ])('%s', (_, count, makes, removes) => {
    const planned = planFor({ bots: someBots(count, startedIn(runA)), pods: readyBots(3) })
    expect([createdIndexes(planned), deletedIndexes(planned)]).toEqual([makes, removes])
  })

  test('forgets the ends of bots beyond the count', () => {
    const run = startedIn(runA, { failedIndexes: '1-2', completedIndexes: '0', failure: 'so' })
    const { status } = planFor({ bots: someBots(1, run) })
    expect(status.run).toEqual({ id: runA, startedAt: at(startMs), completedIndexes: '0' })
  })
})

describe('a bot that ends', () => {
  const failing = (restarts = 0, ranForMs = 1_000) => [
    aBot(0, { restarts, status: exitStatus(3, ranForMs) }),
    aBot(1, { status: ready }),
  ]
  const two = someBots(2, startedIn(runA))

  test('with exit code 0 is recorded before its pod is deleted, and is final', () => {
    const pods = [aBot(0, { status: exitStatus(0) }), aBot(1, { status: ready })]
    const recorded = planFor({ bots: two, pods })
    expect(recorded).toMatchObject({ steps: [], requeueAfterMs: 0, status: { run: { completedIndexes: '0' } } })
    const end = settle({ bots: two, pods })
    expect(end.pods).toHaveLength(1)
    expect(end.bots.status).toMatchObject({ phase: 'Running', ready: 1 })
  })

  test('with another exit code is counted before its pod is deleted, and restarted after a wait that doubles', () => {
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

  test('too often fails alone, and all failed bots are an Error', () => {
    const one = settle({ bots: two, pods: failing(3) })
    expect(one.pods).toHaveLength(1)
    const planned = planFor(one)
    expect(planned.status).toMatchObject({ phase: 'Running', ready: 1, run: { failedIndexes: '0' } })
    expect(findCondition(planned.status, 'Degraded')).toMatchObject({ status: 'True', reason: 'RestartBudget' })
    expect(findCondition(planned.status, 'Ready')?.status).toBe('False')
    const all = settle({ ...one, pods: [aBot(1, { restarts: 3, status: exitStatus(3) })] })
    expect(all).toMatchObject({ pods: [], bots: { status: { phase: 'Error' } } })
    expect(all.bots.status?.message).toContain('exit code 3')
  })

  test('after restartRefillMs has its earlier failures forgotten', () => {
    const planned = planFor({ bots: two, pods: failing(3, settings.restartRefillMs) })
    expect(planned.status.run?.restarting).toMatchObject([{ restarts: 1 }])
  })

  test.each([
    ['the cluster evicted it', active(), { phase: 'Failed', reason: 'Evicted' }],
    ['its world has no server', aWorld({ phase: 'Active', runId: runA }), exitStatus(1)],
    ['the address of its world changed', active(runA, '10.0.0.8'), exitStatus(1)],
  ] as const)('is not counted if %s', (_, world, status) => {
    const planned = planFor({ bots: two, world, pods: [aBot(0, { status })] })
    expect(deletedIndexes(planned)).toEqual([0])
    expect(planned.status.run?.restarting).toBeUndefined()
  })

  test.each([
    ['over the API', { ...leaving, status: { conditions: [disruptionTarget('EvictionByEvictionAPI')] } }],
    ['by the kubelet', { status: { phase: 'Failed', reason: 'Evicted' } }],
  ])('that the cluster evicts %s is named with its index', (_, changes) => {
    const { status } = planFor({ bots: two, pods: [aBot(0, { status: ready }), aBot(1, changes)] })
    expect(findCondition(status, 'Degraded')).toMatchObject({
      status: 'True',
      reason: 'Evicted',
      message: 'Bot 1: the cluster evicted the bot.',
    })
    const scaledDown = planFor({
      bots: someBots(1, startedIn(runA)),
      pods: [aBot(0, { status: ready }), aBot(1, changes)],
    })
    expect(findCondition(scaledDown.status, 'Degraded')?.status).toBe('False')
  })

  test('with thousands of others is one entry', () => {
    const world = aWorld({ ...active().status }, { profile: 'Capacity10000' })
    const pods = Array.from({ length: 10_000 }, (_, index) => aBot(index, { status: exitStatus(1) }))
    const { status } = planFor({ bots: someBots(10_000, startedIn(runA)), world, pods: pods.reverse() })
    expect(status.run?.restarting).toMatchObject([{ indexes: '0-9999', restarts: 1 }])
    expect(status.run?.failure).toContain('Bot 0')
  })
})

describe('the run of the world', () => {
  test('ends with its bots, which are recreated in the next run', () => {
    const running = { bots: three, pods: readyBots(3) }
    const stopped = settle({ ...running, world: aWorld({ phase: 'Stopped', runId: runA }) })
    expect(stopped).toMatchObject({ pods: [], bots: { status: { phase: 'Stopped' } } })
    const next = settle({ ...stopped, world: active(runB), nowMs: startMs + 5_000 })
    expect(next.pods?.map(({ metadata }) => metadata.labels?.['orrery.dev/run'])).toEqual([runB, runB, runB])
    expect(next.bots.status).toMatchObject({ startedAt: at(startMs + 5_000), run: { id: runB } })
  })

  test('that is new replaces all bots', () => {
    const planned = planFor({ bots: three, pods: readyBots(3), world: active(runB) })
    expect([createdIndexes(planned), deletedIndexes(planned)]).toEqual([[], [0, 1, 2]])
    expect(planned.status.run?.id).toBe(runB)
  })

  test('keeps its bots while its server restarts, and replaces them when its address changes', () => {
    const away = planFor({ bots: three, pods: readyBots(3), world: aWorld({ phase: 'Active', runId: runA }) })
    expect(away.steps).toEqual([])
    const moved = planFor({ bots: three, pods: readyBots(3), world: active(runA, 'fd00::7') })
    expect(deletedIndexes(moved)).toEqual([0, 1, 2])
    const again = settle({ bots: three, world: active(runA, 'fd00::7') })
    expect(again.pods?.[0]?.metadata.annotations).toMatchObject({
      'orrery.dev/world-address': expect.stringContaining('[fd00::7]'),
    })
  })
})

describe('The duration', () => {
  const limited = someBots(3, { spec: { durationMinutes: 1 }, ...startedIn(runA) })
  test('stops all bots, and never early', () => {
    expect(planFor({ bots: limited, pods: readyBots(3), nowMs: startMs + 59_999 })).toMatchObject({
      steps: [],
      requeueAfterMs: 1,
      status: { phase: 'Running' },
    })
    const over = planFor({ bots: limited, pods: readyBots(3), nowMs: startMs + 60_000 })
    expect(deletedIndexes(over)).toEqual([0, 1, 2])
    expect(over.status).toMatchObject({
      phase: 'Stopping',
      run: { endReason: 'Expired', endedAt: at(startMs + 60_000) },
    })
  })

  test('stays over in its run, even if it is extended later', () => {
    const over = settle({ bots: limited, pods: readyBots(3), nowMs: startMs + 60_000 })
    const extended = { ...over.bots, spec: { ...over.bots.spec, durationMinutes: 60 } }
    expect(settle({ ...over, bots: extended, nowMs: startMs }).pods).toEqual([])
    expect(settle({ ...over, world: active(runB) }).pods).toHaveLength(3)
  })
})

describe('maxBotsPerWorld', () => {
  const sibling = (name: string, count: number, createdMs: number, status?: object) =>
    someBots(count, { metadata: { name, uid: name, creationTimestamp: at(createdMs) }, ...withDefined({ status }) })
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
  ])('%s, in any order of observation', (_, siblings, allowed) => {
    const input = { bots, world: active(), policy: {} }
    expect(shareOf({ ...input, siblings }).allowed).toBe(allowed)
    expect(shareOf({ ...input, siblings: siblings.toReversed() }).allowed).toBe(allowed)
  })

  test('exceeded keeps the lowest bots and sets LimitExceeded', () => {
    const planned = planFor({ bots, siblings: [bots, older], pods: readyBots(5) })
    expect(deletedIndexes(planned)).toEqual([2, 3, 4])
    expect(planned.status).toMatchObject({ phase: 'Running', ready: 2 })
    expect(findCondition(planned.status, 'LimitExceeded')).toMatchObject({ status: 'True', reason: 'MaxBotsPerWorld' })
    expect(planned.status.message).toContain('2 of 5 bots may run')
    expect(findCondition(planned.status, 'Ready')?.status).toBe('False')
  })

  test('without any room leaves it Pending, and neither run nor duration begins', () => {
    const waiting = someBots(5)
    const planned = planFor({ bots: waiting, siblings: [waiting, sibling('older', 10, startMs - 1)] })
    expect(planned.status).toMatchObject({ phase: 'Pending', ready: 0 })
    expect([planned.status.run, planned.status.startedAt]).toEqual([undefined, undefined])
  })
})

test('a paused bot deployment stays unchanged and says so', () => {
  const paused = someBots(0, { metadata: { annotations: { 'orrery.dev/paused': 'true' } }, ...startedIn(runA) })
  const planned = planFor({ bots: paused, pods: readyBots(3) })
  expect(planned.steps).toEqual([])
  expect(planned.status.message).toBe('Paused: remove the annotation orrery.dev/paused to continue.')
})

test('a deletion creates nothing and deletes no pod of another owner', () => {
  const metadata = { deletionTimestamp: at(startMs) }
  const pods = [aBot(0), aBot(1, leaving), aBot(2, { metadata: { ownerReferences: [] } })]
  const planned = planFor({ bots: someBots(5, { metadata, ...startedIn(runA) }), pods })
  expect([createdIndexes(planned), deletedIndexes(planned)]).toEqual([[], [0]])
})

test('the same refusal again leaves the status of a bot deployment unchanged', () => {
  const why = { reason: 'QuotaExceeded', message: 'No room.' }
  const first = refusedStatus(three.status, planFor({ bots: three }).status, why, startMs)
  const bots = { ...three, status: first }
  const retry = planFor({ bots, nowMs: startMs + 9_000 }).status
  expect(refusedStatus(first, retry, why, startMs + 9_000)).toEqual(first)
})

test("a bot's exit code is read from its own container, not from a sidecar that is listed first", () => {
  const sidecar = { name: 'mesh', state: { terminated: { exitCode: 0, reason: 'Completed' } } }
  const own = { name: 'bot', state: { terminated: { exitCode: 3, reason: 'Error' } } }
  const status = { phase: 'Failed' as const, containerStatuses: [sidecar, own] }
  expect(planFor({ bots: three, pods: [aBot(0, { status })] }).status.run?.failure).toContain('exit code 3')
})

test('a bot deployment as expected has Degraded False with the reason AsExpected, as a world has', () => {
  expect(findCondition(planFor({ bots: three, pods: readyBots(3) }).status, 'Degraded')).toMatchObject({
    status: 'False',
    reason: 'AsExpected',
    message: '',
  })
})

test('a refused write makes Ready False with the reason of the refusal, as for a world', () => {
  const why = { reason: 'QuotaExceeded', message: 'No room.' }
  const status = refusedStatus(three.status, planFor({ bots: three }).status, why, startMs)
  const reasons = Object.fromEntries((status.conditions ?? []).map(({ type, reason }) => [type, reason]))
  expect(reasons).toMatchObject({ Ready: 'QuotaExceeded', Progressing: 'QuotaExceeded', Degraded: 'QuotaExceeded' })
})

function waits(reason: string, message: string): Pod['status'] {
  return { phase: 'Pending', containerStatuses: [{ state: { waiting: { reason, message } } }] }
}

describe('a bot beside the sidecar of a mesh', () => {
  const exitedWith = (exitCode: number): Pod['status'] => ({
    phase: 'Running',
    containerStatuses: [
      { name: 'istio-proxy', state: { running: { startedAt: at(startMs) } } },
      { name: 'bot', state: { terminated: { exitCode, reason: 'Ended' } } },
    ],
  })

  test('that exits with code 0 is completed, although its pod is still Running', () => {
    const one = someBots(1, startedIn(runA))
    expect(planFor({ bots: one, pods: [aBot(0, { status: exitedWith(0) })] }).status.phase).toBe('Stopped')
  })

  test('that fails is restarted, although its pod is still Running', () => {
    const planned = planFor({ bots: three, pods: [...readyBots(2), aBot(2, { status: exitedWith(3) })] })
    expect(planned.status.message).toContain('bot 2: the bot failed with exit code 3.')
  })
})
