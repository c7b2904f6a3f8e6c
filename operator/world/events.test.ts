import { expect, test } from 'vitest'
import type { World } from '#shared/resources/world.ts'
import { eventsOf } from './events.ts'
import { aPod, aWorld, exited, planFor, ready, runA, running, startMs, stopped, written } from './fixtures.ts'
import type { Pod } from './pod.ts'

/** Reconciles until nothing changes, and collects what the user is told, as `type reason: note`. */
const toldBy = (start: World, pod: Pod | undefined, nowMs = startMs): { world: World; told: string[] } => {
  let world = start
  const told: string[] = []
  for (let round = 0; round < 10; round += 1) {
    const planned = planFor(world, pod, nowMs)
    told.push(
      ...eventsOf(world, planned.status, planned.steps).map(({ type, reason, note }) => `${type} ${reason}: ${note}`),
    )
    if (JSON.stringify(world.status) === JSON.stringify(planned.status)) return { world, told }
    world = written(world, planned)
  }
  throw new Error('the world did not settle in 10 rounds')
}

const started = toldBy(aWorld(running), undefined).world
const active = toldBy(started, aPod({ status: ready() })).world

test('a start is told with its run, size and image, once', () => {
  const { told, world } = toldBy(aWorld(running), undefined)
  expect(told).toEqual([`Normal Started: The run ${runA} begins: Capacity30 with the image registry.example/server:1.`])
  expect(toldBy(world, undefined).told).toEqual([])
})

test('a server that becomes ready is told with where it is', () => {
  expect(toldBy(started, aPod({ status: ready() })).told).toEqual([
    'Normal Ready: The server is ready at 10.0.0.7:7777.',
  ])
})

test('an edit of a world that runs tells nothing', () => {
  const edited = { ...active, metadata: { ...active.metadata, generation: 2 } }
  expect(toldBy(edited, aPod({ status: ready() })).told).toEqual([])
})

test('a failed server is told with why, and its end when it failed too often', () => {
  let world = active
  const all: string[] = []
  for (let failure = 1; failure <= 4; failure += 1) {
    const step = toldBy(world, aPod({ uid: `pod-${failure}`, status: exited(3) }))
    all.push(...step.told)
    world = step.world
  }
  expect(all).toHaveLength(5)
  expect(all[0]).toBe('Warning Restarted: The server ended with exit code 3 (Error). This is failure 1 of the run.')
  expect(all[4]).toMatch(/^Warning RestartBudget: The server failed 4 times: .*exit code 3/)
})

test('a run that ends is told with its reason: stopped, expired, completed, not ready in time', () => {
  expect(toldBy({ ...active, spec: aWorld(stopped).spec }, undefined).told).toEqual([
    'Normal Stopped: The world was stopped.',
  ])
  const short = { ...active, spec: { ...active.spec, durationMinutes: 1 } }
  expect(toldBy(short, undefined, startMs + 60_000).told).toEqual(['Normal Expired: The duration of the run is over.'])
  expect(toldBy(active, aPod({ status: exited(0) })).told).toEqual(['Normal Completed: The server ended the run.'])
  const late = toldBy(started, undefined, startMs + 600_000).told
  expect(late).toEqual(['Warning StartDeadline: The server was not ready in time.'])
})

test('a deletion is told once no server is left, and so is the end of a transient world', () => {
  const deleted = { ...active, metadata: { ...active.metadata, deletionTimestamp: 'now', generation: 2 } }
  const draining = toldBy(deleted, aPod({ status: ready() }))
  expect(draining.told).toEqual(['Normal Stopped: The world is being deleted.'])
  expect(toldBy(draining.world, undefined).told).toEqual([
    'Normal Deleted: The world is deleted, and no server of it is left.',
  ])
  const transient = { ...active, spec: { ...active.spec, transient: true, durationMinutes: 1 } }
  const over = toldBy(transient, undefined, startMs + 60_000).told
  expect(over).toContain('Normal Deleted: The duration is over and the server has stopped: the world is deleted.')
})

test('what somebody must look at is a warning, told once for each reason', () => {
  const foreign = aPod({ metadata: { ownerReferences: [] } })
  const { told, world } = toldBy(started, foreign)
  expect(told).toHaveLength(1)
  expect(told[0]).toMatch(/^Warning PodNameTaken: The pod .* belongs to something else/)
  expect(toldBy(world, foreign).told).toEqual([])
})
