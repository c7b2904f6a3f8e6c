import { expect, test } from 'vitest'
import type { Pod } from '#operator/pods/pod.ts'
import { at, disruptionTarget, exitStatus, runA, startMs } from '#operator/testing/common.ts'
import {
  aPod,
  applyStatus,
  aWorld,
  evicted,
  planFor,
  podOf,
  ready,
  running,
  settings,
  stopped,
} from '#operator/testing/world.ts'
import { pausedAnnotation } from '#shared/resources/group.ts'
import type { World } from '#shared/resources/world.ts'
import { worldEvents } from './events.ts'

/** Reconciles until nothing changes, and collects the events as `type reason: note`. */
const eventsBy = (start: World, pod: Pod | undefined, nowMs = startMs): { world: World; events: string[] } => {
  let world = start
  const events: string[] = []
  for (let round = 0; round < 10; round += 1) {
    const planned = planFor(world, pod, nowMs)
    events.push(
      ...worldEvents(world, planned.status, planned).map(({ type, reason, note }) => `${type} ${reason}: ${note}`),
    )
    if (JSON.stringify(world.status) === JSON.stringify(planned.status)) return { world, events }
    world = applyStatus(world, planned)
  }
  throw new Error('the world did not settle in 10 rounds')
}

/** A Ready server that the cluster is removing for that reason. */
const evictedBy = (reason: string) => {
  const { conditions = [], ...status } = ready()
  return {
    metadata: { deletionTimestamp: at(startMs) },
    status: { ...status, conditions: [...conditions, disruptionTarget(reason)] },
  }
}

const started = eventsBy(aWorld(running), undefined).world
const active = eventsBy(started, aPod({ status: ready() })).world

test('emits one event for a start, with run, profile and image', () => {
  const { events, world } = eventsBy(aWorld(running), undefined)
  expect(events).toEqual([
    `Normal Started: Run ${runA} started with profile Capacity30 and image registry.example/server:1.`,
  ])
  expect(eventsBy(world, undefined).events).toEqual([])
})

test('emits an event for a ready server, with its address', () => {
  expect(eventsBy(started, aPod({ status: ready() })).events).toEqual([
    'Normal Ready: The server is ready at 10.0.0.7:7777.',
  ])
})

test('emits one event with run, profile, image and address for a server that is ready in the first status of its run', () => {
  const { annotations } = podOf(planFor(aWorld(running))).metadata
  const pod = aPod({ status: ready(), metadata: { annotations } })
  expect(eventsBy(aWorld(running), pod).events).toEqual([
    `Normal Ready: Run ${runA} started with profile Capacity30 and image registry.example/server:1. The server is ready at 10.0.0.7:7777.`,
  ])
})

test('emits no event for an edit of a running world', () => {
  const edited = { ...active, metadata: { ...active.metadata, generation: 2 } }
  expect(eventsBy(edited, aPod({ status: ready() })).events).toEqual([])
})

test('emits an event with the cause for each failure and for the end of the budget', () => {
  let world = active
  const all: string[] = []
  for (let failure = 1; failure <= 4; failure += 1) {
    const step = eventsBy(world, aPod({ uid: `pod-${failure}`, status: exitStatus(3) }))
    all.push(...step.events)
    world = step.world
  }
  expect(all).toHaveLength(4)
  expect(all[0]).toBe('Warning Restarted: Restart 1 of 3: the server failed with exit code 3.')
  expect(all[3]).toBe('Warning RestartBudget: Failed 4 times; last error: the server failed with exit code 3.')
})

test.each<[string, Parameters<typeof aPod>[0], string]>([
  ['evicted by the kubelet', { status: evicted }, 'Evicted: Replacing the server: the cluster evicted the server.'],
  [
    'refused by its node',
    { status: { phase: 'Failed', reason: 'OutOfcpu' } },
    'NodeRefused: Replacing the server: the node did not admit the server.',
  ],
  ['evicted over the API', evictedBy('EvictionByEvictionAPI'), 'Evicted: The cluster evicted the server.'],
  ['preempted', evictedBy('PreemptionByScheduler'), 'Evicted: The cluster evicted the server.'],
  ['evicted by a taint', evictedBy('DeletionByTaintManager'), 'Evicted: The cluster evicted the server.'],
  ['deleted with its node', evictedBy('DeletionByPodGC'), 'NodeLost: The node of the server was lost.'],
])('emits one event with the reason for a server that is %s', (_, changes, words) => {
  const pod = aPod({ uid: 'lost', ...changes })
  const { events, world } = eventsBy(active, pod)
  expect(events).toEqual([expect.stringContaining(`Warning ${words}`)])
  expect(eventsBy(world, pod).events).toEqual([])
})

test('emits an event for a failure after the restart budget is full again', () => {
  const failed = eventsBy(active, aPod({ uid: 'pod-1', status: exitStatus(3) })).world
  const readyAgain = eventsBy(failed, aPod({ uid: 'pod-2', status: ready() })).world
  const laterMs = startMs + 2 * settings.restartRefillMs
  expect(eventsBy(readyAgain, aPod({ uid: 'pod-2', status: exitStatus(3) }), laterMs).events).toEqual([
    'Warning Restarted: Restart 1 of 3: the server failed with exit code 3.',
  ])
})

test('emits an event with the reason when a run ends', () => {
  expect(eventsBy({ ...active, spec: aWorld(stopped).spec }, undefined).events).toEqual([
    'Normal Stopped: The world was stopped.',
  ])
  const short = { ...active, spec: { ...active.spec, durationMinutes: 1 } }
  expect(eventsBy(short, undefined, startMs + 60_000).events).toEqual([
    'Normal Expired: The duration of the run is over.',
  ])
  expect(eventsBy(active, aPod({ status: exitStatus(0) })).events).toEqual([
    'Normal Completed: The server ended the run.',
  ])
  const late = eventsBy(started, undefined, startMs + 600_000).events
  expect(late).toEqual([
    'Warning StartDeadline: The server was not ready in time: waiting for the server to become ready.',
  ])
})

test('emits an event for a deletion once no server is left', () => {
  const deleted = { ...active, metadata: { ...active.metadata, deletionTimestamp: 'now', generation: 2 } }
  const draining = eventsBy(deleted, aPod({ status: ready() }))
  expect(draining.events).toEqual(['Normal Stopped: The world is being deleted.'])
  expect(eventsBy(draining.world, undefined).events).toEqual([
    'Normal Deleted: The world is deleted. No server is left.',
  ])
  const transient = { ...active, spec: { ...active.spec, transient: true, durationMinutes: 1 } }
  const over = eventsBy(transient, undefined, startMs + 60_000).events
  expect(over).toContain('Normal Deleted: The world is deleted: its duration is over and its server has stopped.')
})

test('emits one warning for each reason of a Degraded world', () => {
  const foreign = aPod({ metadata: { ownerReferences: [] } })
  const { events, world } = eventsBy(started, foreign)
  expect(events).toHaveLength(1)
  expect(events[0]).toMatch(/^Warning PodNameTaken: Pod .* belongs to another owner/)
  expect(eventsBy(world, foreign).events).toEqual([])
})

test('reports no deletion of a paused World whose server still runs', () => {
  const deletionTimestamp = new Date(startMs).toISOString()
  const annotations = { [pausedAnnotation]: 'true' }
  const paused = { ...active, metadata: { ...active.metadata, annotations, deletionTimestamp } }
  expect(eventsBy(paused, aPod({ status: ready() })).events).toEqual([])
})
