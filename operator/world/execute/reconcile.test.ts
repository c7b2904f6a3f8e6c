import { describe, expect, test } from 'vitest'
import { createRunClock } from '#operator/lifecycle/runClock.ts'
import type { Pod } from '#operator/pods/pod.ts'
import { someBots } from '#operator/testing/bots.ts'
import { at, controllerReference, runA, runB, startMs } from '#operator/testing/common.ts'
import {
  active,
  answered,
  aPod,
  applyStatus,
  asked,
  aWorld,
  captured,
  conditionOf,
  outOfMemory,
  planFor,
  podOf,
  ready,
  running,
  settings,
  silent,
  stopped,
} from '#operator/testing/world.ts'
import { KubeError } from '#shared/kube/errors.ts'
import { silentLog } from '#shared/kube/log.ts'
import { objectKey } from '#shared/kube/objects.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { worldResource } from '#shared/resources/group.ts'
import type { World } from '#shared/resources/world.ts'
import { noTracing } from '#shared/tracing/tracing.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import type { PolledServer } from '../askedServer.ts'
import { createHostPortUse } from '../hostPorts.ts'
import { createPortPools } from '../portPools.ts'
import type { QueryResult } from '../query/answer.ts'
import { reconcileWorld, type WorldDeps } from './reconcile.ts'
import { createStateAge } from './stateAge.ts'

const conflict = new KubeError({ status: 409, reason: 'Conflict', message: 'the object has been modified' })
const alreadyExists = new KubeError({ status: 409, reason: 'AlreadyExists', message: 'pods "w" already exists' })
const forbidden = new KubeError({ status: 403, reason: 'Forbidden', message: 'pods "w" is forbidden' })
const notFound = new KubeError({ status: 404, reason: 'NotFound', message: 'not found' })

/** Reconciles a World and its pod as the caches have them, at an API server that has `live`; returns its writes. */
const reconcileAt = async (
  live: World | undefined,
  cached: World | undefined,
  pod: Pod | undefined,
  {
    deletedUids = [],
    hidden,
    mayRepair = true,
    waitMs = 0,
    polls = [],
    statuses = [],
    queried,
    bots = [],
    atMs = startMs + 1_000,
  }: {
    deletedUids?: readonly string[]
    hidden?: Pod
    mayRepair?: boolean
    waitMs?: number
    polls?: string[]
    statuses?: (World['status'] | undefined)[]
    queried?: QueryResult | undefined
    bots?: readonly BotDeployment[]
    atMs?: number
  } = {},
) => {
  const clock = createFakeClock(atMs)
  const key = objectKey(active().metadata)
  const writes: string[] = []
  let reads = 0
  const cacheOf = <T>(object: T) => ({ store: { get: () => object }, waitForVersion: async () => undefined })
  const deps = {
    worlds: {
      cache: cacheOf(cached),
      client: {
        resource: worldResource,
        get: async () => {
          reads += 1
          return live ?? Promise.reject(notFound)
        },
        applyStatus: async ({ metadata, status }: World) => {
          if (live?.metadata.resourceVersion !== metadata.resourceVersion) throw conflict
          writes.push('status')
          statuses.push(status)
          return live
        },
      },
    },
    pods: {
      cache: cacheOf(pod),
      client: {
        resource: { kind: 'Pod' },
        get: async () => {
          writes.push('read')
          return hidden ?? Promise.reject(notFound)
        },
        create: () => Promise.reject(alreadyExists),
        patch: async (_: object, { metadata }: { metadata: object }) => {
          writes.push(JSON.stringify(metadata))
          return mayRepair ? hidden : Promise.reject(forbidden)
        },
        delete: async (_: object, { uid }: { uid: string }) => void writes.push(`delete ${uid}`),
      },
    },
    services: { cache: cacheOf(undefined) },
    nodes: {
      cache: cacheOf(undefined),
      client: { get: () => Promise.reject(notFound) },
    },
    namespaces: { cache: cacheOf(undefined), client: { get: () => Promise.reject(notFound) } },
    tails: { keep: async ({ metadata }: Pod) => void writes.push(`keep ${metadata.uid}`) },
    queuePoll: {
      start: (_: string, { query }: PolledServer) => void polls.push(`ask ${query.protocol} ${query.port}`),
      stop: () => void polls.push('ask none'),
      report: () => queried,
      answerAgeMs: () => (queried?.kind === 'answered' ? 0 : Number.POSITIVE_INFINITY),
    },
    bots: { store: { byIndex: (_: string, worldKey: string) => (worldKey === key ? bots : []) } },
    deletedWorlds: new Set(deletedUids),
    runClock: createRunClock(clock),
    serviceAge: createStateAge(clock),
    portPools: createPortPools(),
    hostPorts: createHostPortUse(settings.hostPorts),
    acknowledgements: { waitMs: () => waitMs, forget: () => undefined },
    settings,
    newRunId: () => runB,
    events: { record: () => undefined },
    tracing: noTracing,
    log: silentLog,
  } as unknown as WorldDeps
  const result = await reconcileWorld(deps, key, new AbortController().signal).then(
    (next) => (next?.priority === undefined ? 'done' : `again after ${next.requeueAfterMs} ms, ${next.priority}`),
    (error: unknown) => String((error as KubeError).reason),
  )
  return { result, writes, ...(deletedUids.length > 0 && { reads }) }
}

const changed = (world: World): World => ({ ...world, metadata: { ...world.metadata, resourceVersion: '11' } })
/** A pod without a node, so that it has no state of one. */
const onNoNode = (pod: Pod): Pod => ({ ...pod, spec: {} })

describe('a new leader whose cache of Worlds is behind', () => {
  const newer = onNoNode(aPod({ run: runB, uid: 'newer', status: ready() }))

  test('does not delete the pod of a newer run', async () => {
    expect(await reconcileAt(changed(active()), active(), newer)).toEqual({ result: 'Conflict', writes: [] })
  })

  test('does not delete the pod of a newer run, although the status would not change', async () => {
    const waiting = applyStatus(active(), planFor(active(), newer, startMs + 1_000))
    expect(await reconcileAt(changed(waiting), waiting, newer)).toEqual({ result: 'Conflict', writes: [] })
  })

  test('deletes the pod of an older run once the cache has the World', async () => {
    const waiting = applyStatus(active(), planFor(active(), newer, startMs + 1_000))
    expect(await reconcileAt(waiting, waiting, newer)).toEqual({ result: 'done', writes: ['delete newer'] })
  })
})

test('a start whose pod is young writes nothing and is reconciled again with low priority', async () => {
  const begun = aWorld(running)
  const { annotations } = podOf(planFor(begun)).metadata
  const pod = onNoNode(aPod({ metadata: { annotations, creationTimestamp: at(startMs) } }))
  expect(await reconcileAt(begun, begun, pod)).toEqual({ result: 'again after 1000 ms, low', writes: [] })
})

test('a server that must answer is asked before the first status of its run', async () => {
  const begun = aWorld(asked({ protocol: 'A2S' }))
  const { annotations } = podOf(planFor(begun)).metadata
  const metadata = { annotations, creationTimestamp: at(startMs) }
  const polls: string[] = []
  const starts = onNoNode(aPod({ metadata }))
  const isReady = onNoNode(aPod({ metadata, status: ready() }))
  expect((await reconcileAt(begun, begun, starts, { polls })).writes).toEqual([])
  expect((await reconcileAt(begun, begun, isReady, { polls })).writes).toEqual([])
  expect(polls).toEqual(['ask none', 'ask A2S 7777'])
})

describe('when the namespace is above its rate of acknowledgements', () => {
  const pod = onNoNode(aPod({ status: ready(), metadata: { creationTimestamp: at(startMs) } }))
  const seen = applyStatus(active(), planFor(active(), pod, startMs + 1_000))
  const edited = { ...seen, metadata: { ...seen.metadata, generation: (seen.metadata.generation ?? 0) + 1 } }

  test('a status that only acknowledges an edit waits', async () => {
    expect(await reconcileAt(edited, edited, pod)).toEqual({ result: 'done', writes: ['status'] })
    expect(await reconcileAt(edited, edited, pod, { waitMs: 700 })).toEqual({
      result: 'again after 700 ms, low',
      writes: [],
    })
  })

  test('a stop does not wait', async () => {
    const stop = { ...edited, spec: { ...edited.spec, ...stopped } }
    const { writes } = await reconcileAt(stop, stop, pod, { waitMs: 700 })
    expect(writes).toEqual(['status', 'delete pod-uid'])
  })
})

describe('a world that may sleep', () => {
  const minuteMs = 60_000
  const pod = onNoNode(aPod({ status: ready(), metadata: { creationTimestamp: at(startMs) } }))
  const begun = captured({ ...running, idleStopMinutes: 15 })
  const world = applyStatus(begun, planFor(begun, pod, startMs + 1_000))
  const overMs = startMs + 1_000 + 15 * minuteMs
  const bots = someBots(2, { spec: { worldName: world.metadata.name } })

  test('writes nothing for answers that nobody is in it, nor for the restart of the operator', async () => {
    for (const queried of [undefined, answered(0), answered(0)]) {
      const atMs = startMs + 10 * minuteMs
      expect(await reconcileAt(world, world, pod, { queried, atMs })).toEqual({ result: 'done', writes: [] })
    }
  })

  test('records its end before its pod is deleted, and writes nothing while it sleeps', async () => {
    const ends = await reconcileAt(world, world, pod, { queried: answered(0), atMs: overMs })
    expect(ends).toEqual({ result: 'done', writes: ['status', 'delete pod-uid'] })
    const ended = applyStatus(world, planFor(world, pod, overMs, runB, { queried: answered(0) }))
    const asleep = applyStatus(ended, planFor(ended, undefined, overMs + 1_000))
    const polls: string[] = []
    expect((await reconcileAt(asleep, asleep, undefined, { atMs: overMs + minuteMs, polls })).writes).toEqual([])
    expect(polls).toEqual(['ask none'])
  })

  test('has no time to sleep in its status while a write for it is refused', async () => {
    const metadata = { ...pod.metadata, labels: { 'orrery.dev/run': runA } }
    const unlabelled = { ...pod, metadata }
    const unknown = applyStatus(world, planFor(world, pod, startMs + 2_000, runB, { queried: silent }))
    for (const [seen, queried] of [
      [world, answered(0)],
      [unknown, silent],
    ] as const) {
      const statuses: World['status'][] = []
      const around = { queried, statuses, mayRepair: false, atMs: startMs + minuteMs }
      expect((await reconcileAt(seen, seen, unlabelled, around)).result).toBe('Forbidden')
      expect(statuses).toHaveLength(1)
      expect(statuses[0]).not.toHaveProperty('idle')
      expect(conditionOf(statuses[0] ?? {}, 'Idle')).toBe('undefined/undefined')
    }
  })

  test('does not end before an answer of this process, and asks for one', async () => {
    const polls: string[] = []
    expect((await reconcileAt(world, world, pod, { atMs: overMs, polls })).writes).toEqual([])
    expect(polls).toEqual(['ask Http 8080'])
  })

  test('is kept awake by its bots, which is written once', async () => {
    const seen = { queried: answered(0), atMs: overMs, bots: [bots] }
    expect((await reconcileAt(world, world, pod, seen)).writes).toEqual(['status'])
    const awake = applyStatus(world, planFor(world, pod, overMs, runB, { queried: answered(0), hasBots: true }))
    expect((await reconcileAt(awake, awake, pod, seen)).writes).toEqual([])
  })
})

test('a stop is recorded before the pod is deleted, in one reconcile', async () => {
  const world = { ...active(), spec: { ...active().spec, ...stopped } }
  const pod = onNoNode(aPod({ status: ready(), metadata: { creationTimestamp: at(startMs) } }))
  expect(await reconcileAt(world, world, pod)).toEqual({ result: 'done', writes: ['status', 'delete pod-uid'] })
})

describe('a pod without the labels of the caches', () => {
  const labels = { 'orrery.dev/run': runA }
  const hidden = onNoNode(aPod({ status: ready(), metadata: { creationTimestamp: at(startMs), labels } }))
  const repair = JSON.stringify({
    labels: { 'app.kubernetes.io/component': 'world', 'orrery.dev/world': hidden.metadata.name },
    uid: 'pod-uid',
  })
  const stop = { ...active(), spec: { ...active().spec, ...stopped } }

  test('is found at the end of its run, gets its labels back, and is deleted', async () => {
    const { writes } = await reconcileAt(stop, stop, undefined, { hidden })
    expect(writes).toEqual(['read', 'status', repair, 'delete pod-uid'])
  })

  test('is deleted even if its labels cannot be put back', async () => {
    const { result, writes } = await reconcileAt(stop, stop, undefined, { hidden, mayRepair: false })
    expect([result, writes]).toEqual(['Forbidden', ['read', 'status', repair, 'delete pod-uid']])
  })

  test('is found before another one is created, and gets its labels back', async () => {
    const { writes } = await reconcileAt(active(), active(), undefined, { hidden })
    expect(writes.slice(0, 2)).toEqual(['read', repair])
  })

  test('is found if no status shows it, since its name is taken', async () => {
    const begun = aWorld(running)
    const built = podOf(planFor(begun))
    const unlabelled = onNoNode({ ...built, metadata: { ...built.metadata, labels } })
    const { writes } = await reconcileAt(begun, begun, undefined, { hidden: unlabelled })
    expect(writes.slice(0, 2)).toEqual(['read', repair])
  })

  test('is looked for once at the end of a run, and not again', async () => {
    expect(await reconcileAt(stop, stop, undefined)).toEqual({ result: 'done', writes: ['read', 'status'] })
    const over = applyStatus(stop, planFor(stop, undefined, startMs + 1_000))
    expect(await reconcileAt(over, over, undefined)).toEqual({ result: 'done', writes: [] })
  })
})

test('the log of a lost server is kept before the status shows the loss', async () => {
  const lost = onNoNode(aPod({ status: outOfMemory }))
  expect(await reconcileAt(active(), active(), lost)).toEqual({ result: 'done', writes: ['keep pod-uid', 'status'] })
})

describe('the pod of a World that was deleted', () => {
  const left = onNoNode(aPod({ status: ready() }))
  const recreated = { ...active(), metadata: { ...active().metadata, uid: 'another-uid' } }

  test('is deleted', async () => {
    expect(await reconcileAt(undefined, undefined, left)).toEqual({ result: 'done', writes: ['delete pod-uid'] })
  })

  test('is deleted without a read if the cache has seen the deletion of its World', async () => {
    const uid = active().metadata.uid ?? ''
    const seen = await reconcileAt(undefined, undefined, left, { deletedUids: [uid] })
    expect(seen).toEqual({ result: 'done', writes: ['delete pod-uid'], reads: 0 })
    const another = await reconcileAt(active(), undefined, left, { deletedUids: ['another-uid'] })
    expect(another).toEqual({ result: 'Conflict', writes: [], reads: 1 })
  })

  test('is deleted if a World of the same name exists', async () => {
    expect((await reconcileAt(recreated, recreated, left)).writes).toContain('delete pod-uid')
  })

  test('is deleted only once', async () => {
    const leaving = { ...left, metadata: { ...left.metadata, deletionTimestamp: at(startMs) } }
    expect(await reconcileAt(undefined, undefined, leaving)).toEqual({ result: 'done', writes: [] })
  })

  test('stays if the World exists and the cache does not show it yet', async () => {
    expect(await reconcileAt(active(), undefined, left)).toEqual({ result: 'Conflict', writes: [] })
  })

  test.each([
    ['no owner', []],
    ['an owner of another kind', [controllerReference('Backup', active().metadata.name, 'gone')]],
    ['an owner of another name', [controllerReference('World', 'another', 'gone')]],
  ])('stays if it has %s', async (_, ownerReferences) => {
    const strange = { ...left, metadata: { ...left.metadata, ownerReferences } }
    expect(await reconcileAt(undefined, undefined, strange)).toEqual({ result: 'done', writes: [] })
  })
})
