import { describe, expect, test } from 'vitest'
import { at, runA, runB, startMs } from '#operator/testing/common.ts'
import {
  aGrant,
  aPod,
  applyStatus,
  aWorld,
  conditionOf,
  outOfMemory,
  planFor,
  podOf,
  ready,
  running,
  settings,
  stopped,
  tenant,
  verbs,
} from '#operator/testing/world.ts'
import { idOfUid } from '#shared/ids.ts'
import { labels } from '#shared/resources/group.ts'
import { type NamespacePolicy, readPolicy } from '#shared/resources/namespacePolicy.ts'
import { changesOf } from '#shared/resources/testing/changes.ts'
import { type World, type WorldRun, worldSpecSchema } from '#shared/resources/world.ts'
import { worldEvents } from './events.ts'
import { buildPod } from './pod.ts'
import { captureRun, profileResources } from './run.ts'
import { buildService } from './service.ts'

const inTenant = (world: World, { pod, nowMs = startMs }: { pod?: ReturnType<typeof aPod>; nowMs?: number } = {}) =>
  planFor(world, pod, nowMs, runB, { policy: tenant })
const granted = (changes: object = {}, spec: object = {}) =>
  aWorld({ ...running, ...spec, granted: aGrant({ ...changes }) })
const withSpec = (world: World, spec: object): World => ({ ...world, spec: { ...world.spec, ...spec } })
const withoutGrant = ({ spec: { granted: _, ...spec }, ...world }: World): World => ({ ...world, spec })
/** A world whose run was granted and is Active. */
const active = (): World => {
  const world = granted()
  return applyStatus(world, inTenant(world, { pod: { ...podOf(inTenant(world)), status: ready() } }))
}
const drained = (): World => {
  const world = withSpec(active(), stopped)
  return applyStatus(world, inTenant(world))
}
const runOf = (world: World): WorldRun => {
  const [step] = inTenant(world).steps
  if (step?.verb !== 'createPod') throw new Error('The plan creates no pod.')
  return step.run
}

describe('in the namespace of an organization a run begins', () => {
  test('as the API granted it, with what the platform configured', () => {
    const { uid: _, image: __, ...fields } = aGrant()
    expect(runOf(granted())).toEqual({
      ...fields,
      image: settings.defaultServerImage,
      resources: profileResources('Capacity30', settings),
      restarts: 0,
    })
    expect(runOf(granted({ image: 'registry.example/server:2' })).image).toBe('registry.example/server:2')
  })

  test.each(
    changesOf(worldSpecSchema).filter(
      ({ pointer }) => !/^.(granted|runId|startedAt|state|nextAction|schedule.restart.when)/.test(pointer),
    ),
  )('the same after an edit of $pointer between the grant and the start', ({ change }) =>
    expect(runOf(granted({}, change))).toEqual(runOf(granted())),
  )

  test('whatever the annotations of the namespace say about limits and registries', () => {
    const annotations = {
      'orrery.dev/limits': JSON.stringify({ maxWorldCapacity: 0, maxRunningCapacity: 0 }),
      'orrery.dev/image-registries': '',
    }
    const policy = readPolicy({ annotations, labels: { [labels.organization]: tenant.organization } })
    const world = granted({ image: '10.0.0.1/server:1' })
    expect(verbs(planFor(world, undefined, startMs, runB, { policy }))).toEqual(['createPod'])
  })
})

describe('in the namespace of an organization no run begins', () => {
  const foreign = 'The granted run belongs to another resource. Waiting for the API to confirm the start.'
  const plain = 'Waiting for the API to confirm the start.'

  test.each<[string, World, string]>([
    ['without a grant', aWorld(running), plain],
    ['without a grant and a run id', aWorld({ state: 'Running' }), plain],
    ['of another run than the spec names', granted({ id: runB }), plain],
    ['if the spec names none', aWorld({ state: 'Running', granted: aGrant() }), plain],
    ['granted to another resource', granted({ uid: 'the-uid-of-the-original' }), foreign],
    ['granted to another organization', granted({ organizationId: 'org-00000000000000000000000002' }), foreign],
  ])('%s', (_, world, message) => {
    const planned = inTenant(world)
    expect([planned.steps, planned.requeueAfterMs, planned.deferStatus]).toEqual([[], undefined, undefined])
    expect(planned.status).toMatchObject({ phase: 'Inactive', message, observedGeneration: 1 })
    expect(planned.status).not.toHaveProperty('run')
    expect(planned.status).not.toHaveProperty('runId')
    expect(conditionOf(planned.status, 'Ready')).toBe('False/WaitingForApi')
    expect(conditionOf(planned.status, 'Progressing')).toBe('True/WaitingForApi')
    expect(conditionOf(planned.status, 'Degraded')).toBe('False/AsExpected')
    expect(planned.status.conditions?.find(({ type }) => type === 'Progressing')?.message).toBe(message)
  })

  test('and the wait is reported by one event and does not change', () => {
    const world = aWorld(running)
    const planned = inTenant(world)
    expect(worldEvents(world, planned.status, planned)).toMatchObject([{ type: 'Normal', reason: 'WaitingForApi' }])
    const later = inTenant(applyStatus(world, planned), { nowMs: startMs + 10 * settings.startDeadlineMs })
    expect(later.status).toEqual(planned.status)
    expect(worldEvents(applyStatus(world, planned), later.status, later)).toEqual([])
  })

  test('and nothing is written for 2 s after the creation, in which the grant usually arrives', () => {
    const young = aWorld({ state: 'Running' }, undefined, { creationTimestamp: at(startMs) })
    expect(inTenant(young, { nowMs: startMs + 500 })).toMatchObject({ deferStatus: true, requeueAfterMs: 1_500 })
    expect(inTenant(young, { nowMs: startMs + 2_000 }).deferStatus).toBeUndefined()
  })

  test('when the state of a stopped world is edited, and the phase and the run stay those of the last run', () => {
    const before = drained()
    const planned = inTenant(withSpec(before, { state: 'Running' }))
    expect(planned.steps).toEqual([])
    expect(planned.status).toMatchObject({ phase: 'Stopped', runId: runA, run: before.status?.run, message: plain })
    expect(planned.status.deployment).toEqual(before.status?.deployment)
  })

  test('if the spec names another run, and the server of the recorded run drains', () => {
    const world = withSpec(active(), { runId: runB })
    const planned = inTenant(world, { pod: aPod({ status: ready() }) })
    expect(verbs(planned)).toEqual(['deletePod'])
    expect(planned.status).toMatchObject({ phase: 'Stopped', run: { id: runA, endReason: 'Stopped' } })
    const gone = inTenant(applyStatus(world, planned))
    expect(verbs(gone)).toEqual([])
    expect(gone.status).toMatchObject({ phase: 'Stopped', message: plain, deployment: { status: 'Stopped' } })
  })

  test('if the grant is withdrawn before the first status, whose server drains once its end is recorded', () => {
    const pod = podOf(inTenant(granted()))
    const recorded = inTenant(aWorld(running), { pod })
    expect(recorded).toMatchObject({ steps: [], status: { run: { id: runA, endReason: 'Stopped' } } })
    expect(verbs(inTenant(applyStatus(aWorld(running), recorded), { pod }))).toEqual(['deletePod'])
  })
})

describe('a recorded run goes on without a grant', () => {
  test.each<[string, (world: World) => World]>([
    ['', withoutGrant],
    [', with a grant of another resource', (world) => withSpec(world, { granted: aGrant({ uid: 'another' }) })],
    [', in a spec without a run id', (world) => withSpec(withoutGrant(world), { runId: undefined })],
  ])('and its lost server is replaced%s', (_, change) => {
    const world = change(active())
    const lost = applyStatus(world, inTenant(world, { pod: aPod({ status: outOfMemory }) }))
    const edited = withSpec(lost, { scaling: { profile: 'Capacity1000' } })
    expect(inTenant(edited, { nowMs: startMs + 60_000 }).steps).toMatchObject([
      { verb: 'createPod', run: { id: runA, profile: 'Capacity30' } },
    ])
  })

  test('and is stopped without one', () => {
    const world = withSpec(withoutGrant(active()), stopped)
    const planned = inTenant(world, { pod: aPod({ status: ready() }) })
    expect(verbs(planned)).toEqual(['deletePod'])
    expect(planned.status).toMatchObject({ phase: 'Stopped', run: { endReason: 'Stopped' } })
  })

  test('and ends after its duration, and its transient world is deleted, without one', () => {
    const world = withSpec(withoutGrant(active()), { transient: true, durationMinutes: 1 })
    const nowMs = startMs + 60_000
    const expired = inTenant(world, { pod: aPod({ status: ready() }), nowMs })
    expect(verbs(expired)).toEqual(['deletePod'])
    expect(verbs(inTenant(applyStatus(world, expired), { nowMs }))).toEqual(['deleteWorld'])
  })
})

describe('a stop before the start was granted', () => {
  test('records the run that the API named', () => {
    const { steps, status } = inTenant(aWorld(stopped))
    expect(steps).toEqual([])
    expect(status).toMatchObject({ phase: 'Stopped', run: { id: runA, endReason: 'Stopped' } })
  })

  test('records no run that only the creator of the World named', () => {
    const { revision: _, ...claimed } = stopped
    const { steps, status } = inTenant(aWorld(claimed))
    expect([steps, status.phase, status.run]).toEqual([[], 'Inactive', undefined])
  })
})

describe('the tenant of a server', () => {
  const forged = {
    [labels.organization]: 'org-00000000000000000000000666',
    [labels.project]: 'prj-00000000000000000000000666',
    [labels.worldId]: 'wld-00000000000000000000000666',
  }
  const { organizationId, projectId, worldId } = aGrant()
  /** Returns the tenant in the labels of pod and service and in the environment, each once. */
  const tenantOf = (world: World, run: WorldRun, policy: NamespacePolicy = tenant): unknown[] => {
    const { metadata, spec } = buildPod(world, run, settings, policy)
    const env = Object.fromEntries(spec.containers[0]?.env?.map(({ name, value }) => [name, value]) ?? [])
    const seen = [metadata, buildService(world, run, settings, policy).metadata].map((each) =>
      [labels.organization, labels.project, labels.worldId].map((key) => each.labels?.[key]),
    )
    const variables = ['ORGANIZATION', 'PROJECT', 'WORLD'].map((name) => env[`ORRERY_${name}_ID`])
    return [...new Set([...seen, variables].map((ids) => JSON.stringify(ids)))].map((ids) => JSON.parse(ids))
  }
  const forge = (world: World): World => ({
    ...world,
    metadata: { ...world.metadata, name: 'hall', labels: forged },
    status: { ...world.status, worldId: 'wld-00000000000000000000000666' },
  })

  test('comes from its namespace and the grant, whatever labels and status of the World say', () => {
    const world = forge(granted())
    expect(tenantOf(world, runOf(world))).toEqual([[organizationId, projectId, worldId]])
    expect(tenantOf(withoutGrant(world), runOf(world))).toEqual([[organizationId, projectId, worldId]])
  })

  test('of a run that an earlier version recorded comes from the namespace and the grant', () => {
    const { organizationId: _, projectId: __, worldId: ___, ...older } = runOf(granted())
    expect(tenantOf(forge(granted()), older)).toEqual([[organizationId, projectId, worldId]])
    expect(tenantOf(withoutGrant(forge(granted())), older)).toEqual([
      [organizationId, forged[labels.project], forged[labels.worldId]],
    ])
  })

  test('elsewhere comes from the labels of the World', () => {
    const world = forge(aWorld({ state: 'Running' }))
    const run = captureRun({ world, policy: {}, settings, nowMs: startMs }, runA)
    expect(tenantOf(world, run, {})).toEqual([
      [forged[labels.organization], forged[labels.project], idOfUid('world', 'world-uid')],
    ])
  })
})

test('a pod that an earlier version made for the run is not replaced', () => {
  const { organizationId: _, projectId: __, worldId: ___, ...older } = runOf(granted())
  const pod = aPod({ metadata: { annotations: buildPod(granted(), older, settings).metadata.annotations } })
  expect(verbs(inTenant(granted(), { pod }))).toEqual([])
})
