import { describe, expect, test } from 'vitest'
import { at, runA, runB, startMs } from '#operator/testing/common.ts'
import {
  active,
  aGrant,
  aPod,
  applyStatus,
  aService,
  aWorld,
  conditionOf,
  planFor,
  ready,
  running,
  tenant,
  verbs,
} from '#operator/testing/world.ts'
import type { World } from '#shared/resources/world.ts'
import type { PlanInput } from './step.ts'

const message = 'The organization was deleted. Its worlds do not run.'
const closed = { ...tenant, isClosed: true } as const
const inClosed = (world: World, pod?: ReturnType<typeof aPod>, around: Partial<PlanInput> = {}) =>
  planFor(world, pod, startMs, runB, { policy: closed, ...around })
const paused = (world: World): World => ({
  ...world,
  metadata: { ...world.metadata, annotations: { 'orrery.dev/paused': 'true' } },
})

describe('in a closed namespace', () => {
  test.each([
    ['a running world', active()],
    ['a paused world', paused(active())],
  ])('%s stops: its server drains, and then its service is deleted', (_, world) => {
    const service = aService('ClusterIP')
    const planned = inClosed(world, aPod({ status: ready() }), { service })
    expect(verbs(planned)).toEqual(['deletePod'])
    expect(verbs(inClosed(applyStatus(world, planned), undefined, { service }))).toEqual(['deleteService'])
    expect(planned.status).toMatchObject({
      phase: 'Stopped',
      run: { id: runA, endReason: 'Stopped', endMessage: message },
      deployment: { status: 'Stopping' },
    })
    expect(planned.status.message).toBe(`${message} Waiting for the server to stop.`)
    const gone = inClosed(applyStatus(world, planned))
    expect(gone.status).toMatchObject({ phase: 'Stopped', message, deployment: { status: 'Stopped' } })
    expect(conditionOf(gone.status, 'Ready')).toBe('False/OrganizationDeleted')
    expect(conditionOf(gone.status, 'Progressing')).toBe('False/OrganizationDeleted')
    expect(inClosed(applyStatus(world, gone)).status).toEqual(gone.status)
  })

  test('nothing begins, and a world that never ran says why', () => {
    const planned = inClosed(aWorld({ state: 'Running', granted: aGrant() }))
    expect(planned.steps).toEqual([])
    expect(planned.status).toMatchObject({ phase: 'Inactive', message })
    expect(conditionOf(planned.status, 'Ready')).toBe('False/OrganizationDeleted')
    expect(inClosed(aWorld({ ...running, granted: aGrant() })).steps).toEqual([])
  })

  test('the recorded end of a run stays', () => {
    const ended = applyStatus(active(), planFor(active(), aPod({ status: { phase: 'Succeeded' } })))
    expect(ended.status?.run?.endReason).toBe('Completed')
    const planned = inClosed(ended)
    expect(planned.status.run).toMatchObject({ endReason: 'Completed', endMessage: 'The server ended the run.' })
    expect(planned.status.message).toBe(message)
  })

  test('a paused world that is deleted drains', () => {
    const world = paused(active())
    const deleted = { ...world, metadata: { ...world.metadata, deletionTimestamp: at(startMs) } }
    expect(verbs(inClosed(deleted, aPod({ status: ready() })))).toEqual(['deletePod'])
  })

  test('that opens again, a world that should run waits for the API', () => {
    const world = { ...active(), spec: { ...active().spec, granted: aGrant() } }
    const after = applyStatus(world, inClosed(world))
    const planned = planFor(after, undefined, startMs, runB, { policy: tenant })
    expect([verbs(planned), conditionOf(planned.status, 'Progressing')]).toEqual([[], 'True/WaitingForApi'])
  })
})
