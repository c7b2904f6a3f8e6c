import { describe, expect, test } from 'vitest'
import { at, runA, runB, startMs } from '#operator/testing/fixtures.ts'
import { noUse, type RunUse } from '#shared/domain/runUse.ts'
import type { NamespacePolicy } from '#shared/resources/namespacePolicy.ts'
import type { World } from '#shared/resources/world.ts'
import {
  active,
  aPod,
  applyStatus,
  aWorld,
  conditionOf,
  planFor,
  ready,
  running,
  settings,
  stopped,
  verbs,
} from './fixtures.ts'

const limits = {
  maxWorldCapacity: 100,
  maxRunningCapacity: 60,
  maxNodePorts: 4,
  maxLoadBalancers: 1,
  maxBotCpuMillicores: 1_000,
  maxBotMemoryBytes: 2 ** 30,
}
const full = { ...noUse, capacity: 60 }
const withStrategy = (strategy: string) => ({ networking: { strategy } })
const planBeside = (
  others: Partial<RunUse>,
  world: World,
  {
    pod,
    nowMs = startMs,
    policy = { limits },
  }: { pod?: ReturnType<typeof aPod>; nowMs?: number; policy?: NamespacePolicy } = {},
) => planFor(world, pod, nowMs, runB, { policy, others: { ...noUse, ...others } })
/** A world without a run id, as kubectl starts it. */
const unnamed = (spec: object = {}) => aWorld({ state: 'Running', ...spec })
const withSpec = (world: World, spec: object): World => ({ ...world, spec: { ...world.spec, ...spec } })
/** The world after a run that was stopped and has drained. */
const drained = () => {
  const world = withSpec(active(), stopped)
  return applyStatus(world, planFor(world))
}

describe('a run does not begin', () => {
  test.each<[string, object, Partial<RunUse>, string]>([
    ['above maxRunningCapacity', {}, { capacity: 40 }, 'RunningCapacityExceeded'],
    ['above maxNodePorts', withStrategy('NodePort'), { nodePorts: 4 }, 'LimitReached'],
    ['above maxLoadBalancers', withStrategy('LoadBalancer'), { loadBalancers: 1 }, 'LimitReached'],
  ])('%s, and its use is not reserved', (_, spec, others, reason) => {
    const planned = planBeside(others, unnamed(spec))
    expect(verbs(planned)).toEqual([])
    expect(planned.status).toMatchObject({ phase: 'Inactive', observedGeneration: 1 })
    expect(planned.status).not.toHaveProperty('run')
    expect(planned.status).not.toHaveProperty('runId')
    expect(planned.status).not.toHaveProperty('deployment')
    expect(conditionOf(planned.status, 'Ready')).toBe(`False/${reason}`)
    expect(conditionOf(planned.status, 'Degraded')).toBe(`True/${reason}`)
    expect(planned.need).toMatchObject({ use: { capacity: 30 }, waitsFor: limits })
    expect(planned.requeueAfterMs).toBe(15_000)
  })

  test('and its message has the numbers and what to do', () => {
    expect(planBeside({ capacity: 40 }, unnamed()).status.message).toBe(
      'The running worlds of the organization would have a total capacity of 70. The limit is 60 (maxRunningCapacity). Stop another world first. The start is tried again when there is room.',
    )
  })

  test('and Ready and Degraded explain it, while Progressing does not repeat the sentences', () => {
    const { message, conditions = [] } = planBeside({ capacity: 40 }, unnamed()).status
    expect(conditions.map(({ type, message: each }) => [type, each])).toEqual([
      ['Degraded', message],
      ['Progressing', ''],
      ['Ready', message],
    ])
  })

  test('while the limits cannot be read', () => {
    const planned = planBeside({}, unnamed(), { policy: { isInvalid: true } })
    expect([verbs(planned), planned.status.phase, planned.need]).toEqual([[], 'Inactive', undefined])
    expect(conditionOf(planned.status, 'Ready')).toBe('False/PolicyInvalid')
  })

  test('and shows the same again, however long it waits', () => {
    const waiting = applyStatus(unnamed(), planBeside(full, unnamed()))
    const later = planBeside(full, waiting, { nowMs: startMs + 10 * settings.startDeadlineMs })
    expect(later.status).toEqual(waiting.status)
  })

  test('and the world keeps the phase and the run of its last run', () => {
    const before = drained()
    const planned = planBeside(full, withSpec(before, { state: 'Running', runId: runB }))
    expect(planned.status).toMatchObject({ phase: 'Stopped', runId: runA, run: before.status?.run })
    expect(planned.status.deployment).toEqual(before.status?.deployment)
    const failed = { ...before, status: { ...before.status, phase: 'Error' as const } }
    expect(planBeside(full, withSpec(failed, { state: 'Running', runId: runB })).status.phase).toBe('Error')
  })

  test('while an older server drains, whose end is recorded first', () => {
    const restarted = withSpec(active(), { runId: runB })
    const recorded = planBeside(full, restarted, { pod: aPod({ status: ready() }) })
    expect(recorded.status).toMatchObject({ phase: 'Stopped', run: { id: runA, endReason: 'Stopped' } })
    expect(verbs(recorded)).toEqual(['deletePod'])
  })

  test('and a transient world whose last run has expired stays, since a run is wanted', () => {
    const spec = { state: 'Running', runId: runB, transient: true, durationMinutes: 1 }
    const world = withSpec(drained(), spec)
    const planned = planBeside(
      full,
      { ...world, spec: { ...world.spec, startedAt: at(startMs + 120_000) } },
      { nowMs: startMs + 120_000 },
    )
    expect(verbs(planned)).toEqual([])
  })

  test('and ends when its duration is over', () => {
    const world = aWorld({ ...running, durationMinutes: 1 })
    expect(planBeside(full, world).requeueAfterMs).toBe(15_000)
    const { status, need } = planBeside(full, world, { nowMs: startMs + 60_000 })
    expect(status).toMatchObject({ phase: 'Stopped', run: { id: runA, endReason: 'Expired' } })
    expect(need).toBeUndefined()
  })
})

describe('a run begins', () => {
  test('beside others within the limits, and its use is reserved until it is in the status', () => {
    const world = aWorld(running)
    const planned = planBeside({ capacity: 30 }, world)
    expect([verbs(planned), planned.need]).toEqual([
      ['createPod'],
      { use: { capacity: 30, nodePorts: 0, loadBalancers: 0 } },
    ])
    const recorded = applyStatus(world, planned)
    expect(planBeside({ capacity: 30 }, recorded).need).toBeUndefined()
  })

  test('once there is room, and its start deadline counts from then', () => {
    const waiting = applyStatus(aWorld(running), planBeside(full, aWorld(running)))
    const nowMs = startMs + 2 * settings.startDeadlineMs
    const planned = planBeside({}, waiting, { nowMs })
    expect([verbs(planned), planned.status.phase]).toEqual([['createPod'], 'Starting'])
  })

  test('and goes on when a limit is lowered: with a pod, without one, and after a failure', () => {
    const lowered = { policy: { limits: { ...limits, maxRunningCapacity: 0 } } }
    expect(planBeside({}, aWorld(running), { ...lowered, pod: aPod({ status: ready() }) }).status.phase).not.toBe(
      'Inactive',
    )
    const recorded = applyStatus(aWorld(running), planFor(aWorld(running)))
    expect(verbs(planBeside({}, recorded, lowered))).toEqual(['createPod'])
    expect(planBeside({}, active(), { ...lowered, pod: aPod({ status: ready() }) }).status.phase).toBe('Active')
  })

  test('without a node port, when maxNodePorts is reached', () => {
    expect(
      verbs(planBeside({ nodePorts: 4 }, aWorld({ ...running, networking: { strategy: 'ClusterIP' } }))),
    ).toContain('createPod')
  })
})
