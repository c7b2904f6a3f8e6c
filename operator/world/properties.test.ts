import { describe, expect, test } from 'vitest'
import { type Pod, runIdOf } from '#operator/pods/pod.ts'
import { isReady } from '#operator/pods/podState.ts'
import { at, exitStatus, runB, startMs } from '#operator/testing/common.ts'
import {
  aGrant,
  allotPorts,
  aNode,
  answered,
  aService,
  aWorld,
  evicted,
  foreign,
  notReady,
  outOfMemory,
  podOfRun,
  ready,
  running,
  settings,
  silent,
  tenant,
  waitingFor,
} from '#operator/testing/world.ts'
import { hasEnded } from '#shared/domain/phases.ts'
import { awaitsAnswer, hasProbes, type ServerQuery } from '#shared/domain/query.ts'
import { withDefined } from '#shared/optional.ts'
import { isPaused, labels } from '#shared/resources/group.ts'
import type { GrantedRun, World, WorldRun, WorldStatus } from '#shared/resources/world.ts'
import { fc } from '#test/support/fastCheck.ts'
import { findDoubts } from './absence.ts'
import { createHostPortUse } from './hostPorts.ts'
import { plan } from './plan.ts'
import { buildPod } from './pod.ts'
import type { PlanInput, Step } from './step.ts'

/** A simulated cluster that only the test and the operator change. */
type Cluster = Pick<PlanInput, 'pod' | 'node' | 'service' | 'queried' | 'policy' | 'hasBots'> & {
  world: World | undefined
  nowMs: number
  made: number
  /** The pod that `queried` is about. */
  askedUid: string | undefined
  /** The pods whose servers have answered. */
  answeredUids: readonly string[]
}
type Event = (cluster: Cluster) => Cluster

const onPod =
  (change: (pod: NonNullable<Cluster['pod']>) => Cluster['pod']): Event =>
  (cluster) => ({ ...cluster, pod: cluster.pod && change(cluster.pod) })
const onSpec =
  (change: (world: World) => Partial<World['spec']>): Event =>
  (cluster) => {
    const { world } = cluster
    if (world === undefined) return cluster
    const metadata = { ...world.metadata, generation: (world.metadata.generation ?? 0) + 1 }
    return { ...cluster, world: { ...world, metadata, spec: { ...world.spec, ...change(world) } } }
  }
const alive = (status: () => NonNullable<NonNullable<Cluster['pod']>['status']>): Event =>
  onPod((pod) =>
    pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded' ? pod : { ...pod, status: status() },
  )

/** The server of a pod that is Ready is asked, if the operator asks it at all. */
const gives =
  (queried: PlanInput['queried']): Event =>
  (cluster) => {
    const uid = cluster.pod?.metadata.uid
    if (uid === undefined || cluster.pod === undefined || !isReady(cluster.pod)) return cluster
    const answeredUids = queried?.kind === 'answered' ? [...cluster.answeredUids, uid] : cluster.answeredUids
    return { ...cluster, queried, askedUid: uid, answeredUids }
  }

/** Returns a run id that was not used before, as the API does. */
const nextRunId = (id = ''): string => `run-${String(Number(id.replace(/\D/g, '')) + 1).padStart(26, '0')}`

const askedBy = ({ probes = true, query }: Partial<GrantedRun> = {}) => ({ probes, ...withDefined({ query }) })

const queryEvents = {
  answers: gives(answered(3, 1)),
  answersThatItIsEmpty: gives(answered(0)),
  fallsSilent: gives(silent),
  answersOtherwise: gives(foreign),
  isForgottenByARestartedOperator: (cluster) => ({ ...cluster, queried: undefined, askedUid: undefined }),
} satisfies Record<string, Event>

const events = {
  ...queryEvents,
  becomesReady: (cluster) => alive(() => ready(cluster.nowMs))(cluster),
  isNoLongerReady: (cluster) => alive(() => notReady(cluster.nowMs))(cluster),
  fails: alive(() => exitStatus(1)),
  endsWell: alive(() => exitStatus(0)),
  runsOutOfMemory: alive(() => outOfMemory),
  isEvicted: alive(() => evicted),
  cannotBePulled: alive(() => waitingFor('ErrImagePull')),
  isDeletedByHand: onPod((pod) => ({ ...pod, metadata: { ...pod.metadata, deletionTimestamp: at(startMs) } })),
  isGone: onPod((pod) => (pod.metadata.deletionTimestamp === undefined ? pod : undefined)),
  losesItsNode: (cluster) => ({ ...cluster, node: 'gone' as const }),
  cannotSeeItsNode: (cluster) => ({ ...cluster, node: aNode('Unknown') }),
  seesItsNode: (cluster) => ({ ...cluster, node: aNode() }),
  isStopped: onSpec(() => ({ state: 'Stopped' })),
  isStarted: onSpec(() => ({ state: 'Running' })),
  isStartedAnew: onSpec(({ spec }) => ({
    state: 'Running',
    runId: nextRunId(spec.runId),
    granted: aGrant({ ...askedBy(spec.granted), id: nextRunId(spec.runId) }),
  })),
  isStartedWithoutGrant: onSpec(({ spec }) => ({ state: 'Running', runId: nextRunId(spec.runId) })),
  losesItsGrant: onSpec(() => ({ granted: aGrant({ uid: 'another' }) })),
  isClosed: (cluster) => ({ ...cluster, policy: { ...cluster.policy, isClosed: true as const } }),
  isOpened: ({ policy: { isClosed: _, ...policy }, ...cluster }) => ({ ...cluster, policy }),
  isResized: onSpec(({ spec }) => ({
    scaling: { profile: spec.scaling.profile === 'Capacity30' ? 'Capacity60' : 'Capacity30' },
  })),
  maySleep: onSpec(() => ({ idleStopMinutes: 10 })),
  maySleepLater: onSpec(() => ({ idleStopMinutes: 43_200 })),
  getsBots: (cluster) => ({ ...cluster, hasBots: true }),
  losesItsBots: (cluster) => ({ ...cluster, hasBots: false }),
  isTransient: onSpec(() => ({ transient: true, durationMinutes: 30 })),
  losesItsService: (cluster) => ({ ...cluster, service: undefined }),
  selectsOtherPods: ({ service, ...cluster }) => ({
    ...cluster,
    service: service && { ...service, spec: { ...service.spec, selector: { a: 'b' } } },
  }),
  // A pod that no status shows is known by its run alone.
  losesTheLabelsOfItsPod: onPod((pod) => ({
    ...pod,
    metadata: { ...pod.metadata, labels: { [labels.run]: runIdOf(pod) ?? '' } },
  })),
  losesTheLabelsOfItsService: ({ service, ...cluster }) => ({
    ...cluster,
    service: service && { ...service, metadata: { ...service.metadata, labels: {} } },
  }),
  waitsBriefly: (cluster) => ({ ...cluster, nowMs: cluster.nowMs + 3_000 }),
  waits: (cluster) => ({ ...cluster, nowMs: cluster.nowMs + 61_000 }),
  waitsLong: (cluster) => ({ ...cluster, nowMs: cluster.nowMs + 500_000 }),
} satisfies Record<string, Event>
const aQuery = fc.constantFrom<Asked[]>(
  { probes: true },
  { probes: true, query: { protocol: 'A2S', timeoutSeconds: 2 } },
  { probes: true, query: { protocol: 'Http', timeoutSeconds: 2 } },
  { probes: false, query: { protocol: 'Http', timeoutSeconds: 2 } },
)
const aPolicy = fc.constantFrom({}, tenant)
const anEvent = fc.constantFrom(...(Object.keys(events) as (keyof typeof events)[]))

/** Plans with what the caches show, and again with what the plan reads or finds because its name is taken. */
const look = (cluster: Cluster, world: World) => {
  const planWith = ({ pod, service }: Pick<Cluster, 'pod' | 'service'>) =>
    plan({
      ...cluster,
      world,
      queried: pod?.metadata.uid === cluster.askedUid ? cluster.queried : undefined,
      settings,
      route: 'unserved',
      answerAgeMs: 0,
      serviceUnusedMs: Number.POSITIVE_INFINITY,
      newRunId: () => runB,
      allotPorts,
      hostPorts: createHostPortUse(settings.hostPorts).of('default/world'),
      pod,
      service,
      node: pod ? cluster.node : undefined,
    })
  const isShown = (object: Cluster['pod'] | Cluster['service']) => object?.metadata.labels?.[labels.world] !== undefined
  const shown = {
    pod: isShown(cluster.pod) ? cluster.pod : undefined,
    service: isShown(cluster.service) ? cluster.service : undefined,
  }
  const planned = planWith(shown)
  const doubts = findDoubts({ world, ...shown }, planned)
  const isTaken = (verb: string) => planned.steps.some((step) => step.verb === verb)
  return planWith({
    pod: doubts.pod || isTaken('createPod') ? cluster.pod : shown.pod,
    service: doubts.service || isTaken('createService') ? cluster.service : shown.service,
  })
}

const aNewPod = ({ made, nowMs }: Cluster, run: WorldRun): Pod => {
  const pod = podOfRun(run, `pod-${made}`)
  return { ...pod, metadata: { ...pod.metadata, creationTimestamp: at(nowMs) } }
}

/** Applies a JSON merge patch (RFC 7396). */
const applyPatch = <T extends object>(to: T, patch: object): T =>
  Object.fromEntries(
    Object.entries({ ...to, ...patch })
      .filter(([, value]) => value !== null)
      .map(([key, value]) => {
        const isMap = key in patch && typeof value === 'object'
        return [key, isMap ? applyPatch(to[key as keyof T] ?? {}, value) : value]
      }),
  ) as T

const execute = (cluster: Cluster, world: World, step: Step): Cluster => {
  switch (step.verb) {
    case 'createPod':
      expect(cluster.pod, 'a second server').toBeUndefined()
      expect(cluster.policy.isClosed).toBeUndefined()
      expect(JSON.stringify(buildPod(world, step.run, settings)).includes('readinessProbe')).toBe(hasProbes(step.run))
      if (cluster.policy.organization !== undefined && step.run.id !== world.status?.run?.id) {
        expect(world.spec.granted).toMatchObject({ id: step.run.id, uid: world.metadata.uid })
      }
      return { ...cluster, made: cluster.made + 1, pod: aNewPod(cluster, step.run) }
    case 'deletePod':
      return events.isDeletedByHand(cluster)
    case 'replacePod':
    case 'forceDeletePod':
      return { ...cluster, pod: undefined }
    case 'createService':
      return { ...cluster, service: aService(step.run.strategy, { run: step.run.id }) }
    case 'addPlaceholders':
    case 'createRoute':
    case 'repairRoute':
      return cluster
    case 'deleteService':
      return { ...cluster, service: undefined }
    case 'repairService':
      return { ...cluster, service: applyPatch(step.service, step.patch) }
    case 'repairPod':
      return { ...cluster, pod: applyPatch(step.pod, step.patch) }
    case 'deleteWorld':
      expect(world.spec.transient).toBe(true)
      return { ...cluster, world: undefined }
  }
}

/** Checks that a plan deletes nothing that is still wanted. */
const expectJustified = (cluster: Cluster, world: World, step: Step): void => {
  const { pod, node, nowMs, queried, hasBots } = cluster
  const run = world.status?.run
  const expiresMs = Date.parse(world.spec.startedAt ?? '') + (world.spec.durationMinutes ?? Infinity) * 60_000
  const unwanted =
    cluster.policy.isClosed || world.spec.state === 'Stopped' || run?.endReason !== undefined || nowMs >= expiresMs
  const podRunId = pod && runIdOf(pod)
  const isEmpty = queried?.kind === 'answered' && queried.queue.active === 0 && queried.queue.queued === 0
  const asleep = isEmpty && !hasBots && nowMs >= Date.parse(world.status?.idle?.sleepsAt ?? '')
  const older = podRunId !== world.spec.runId
  const overdue = run?.readyAt === undefined && nowMs >= startMs + settings.startDeadlineMs
  const isUnrecorded = run?.id !== world.spec.runId
  const counted = run?.countedPodUid === pod?.metadata.uid
  if (step.verb === 'deletePod')
    expect(unwanted || asleep || older || overdue || counted || isUnrecorded, 'a wanted server').toBe(true)
  if (step.verb === 'deletePod' || step.verb === 'forceDeletePod') {
    // The pod of an outdated spec may be deleted without a record: the spec names its run, which continues.
    const goesOn = !older && !unwanted && !asleep
    expect(goesOn || run?.id === podRunId, 'a run that is not on record').toBe(true)
  }
  if (step.verb === 'forceDeletePod') expect(node, 'a server that may still run').toBe('gone')
  if (step.verb === 'deleteWorld') {
    expect(pod).toBeUndefined()
    expect(nowMs).toBeGreaterThanOrEqual(expiresMs)
    expect(world.status?.observedGeneration).toBe(world.metadata.generation)
  }
}

const executeAll = (start: Cluster, world: World, steps: readonly Step[]): Cluster =>
  steps.reduce((cluster, step) => {
    expectJustified(cluster, world, step)
    return execute(cluster, world, step)
  }, start)

/** Executes a plan without writing its status, as an operator that is killed. */
const executesAndCrashes: Event = (cluster) =>
  cluster.world === undefined ? cluster : executeAll(cluster, cluster.world, look(cluster, cluster.world).steps)

const skipsReconcile: Event = (cluster) => cluster

/** Reconciles until a plan has no steps and the same status. */
const settle = (start: Cluster): Cluster => {
  let cluster = start
  for (let round = 0; round < 25; round += 1) {
    const { world } = cluster
    if (world === undefined) return cluster
    const { steps, status, deferStatus, requeueAfterMs = 0 } = look(cluster, world)
    cluster = executeAll(cluster, world, steps)
    const isQuiet = steps.length === 0 && JSON.stringify(status) === JSON.stringify(world.status)
    if (cluster.world !== undefined && !deferStatus) cluster = { ...cluster, world: { ...world, status } }
    if (isQuiet) return cluster
    if (deferStatus && steps.length === 0) cluster = { ...cluster, nowMs: cluster.nowMs + requeueAfterMs }
  }
  throw new Error('The cluster did not settle in 25 reconciles.')
}

type Asked = { readonly probes: boolean; readonly query?: ServerQuery }

const aCluster = (
  strategy: 'Default' | 'ClusterIP' = 'Default',
  policy: PlanInput['policy'] = {},
  runtime: Asked = { probes: true },
): Cluster => ({
  policy,
  world: aWorld({ ...running, runtime, networking: { strategy }, granted: aGrant({ strategy, ...runtime }) }),
  pod: undefined,
  node: aNode(),
  service: undefined,
  queried: undefined,
  hasBots: false,
  nowMs: startMs,
  made: 0,
  askedUid: undefined,
  answeredUids: [],
})

/** Returns a status without the times of observations. */
const timeless = (status: WorldStatus | undefined): unknown =>
  JSON.parse(JSON.stringify(status, (key, value) => (/Time$|At$/.test(key) || key === 'startedAt' ? undefined : value)))

/** Checks that a server is Ready only after its answer if it must give one, and that the status shows no unknown counts. */
const expectAnswered = ({ world, answeredUids }: Cluster): void => {
  const { run, queue, conditions = [], deployment } = world?.status ?? {}
  const isReadyWorld = conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
  const responding = conditions.find(({ type }) => type === 'Responding')
  if (isReadyWorld && run && awaitsAnswer(run))
    expect(answeredUids, 'Ready without an answer').toContain(run.readyPodUid)
  if (queue !== undefined) expect([isReadyWorld, responding?.status ?? 'True']).toEqual([true, 'True'])
  if (responding !== undefined)
    expect([run?.query !== undefined, deployment?.status]).toEqual([true, expect.not.stringMatching(/Stop|Error/)])
  if (isReadyWorld && run?.query !== undefined) expect(responding).toBeDefined()
}

/** Settles after an event. An answer, or none, ends no Ready and changes no run, unless the world falls asleep. */
const settleAfter = (name: keyof typeof events, before: Cluster): Cluster => {
  const { status: was } = before.world ?? {}
  const cluster = settle(events[name](before))
  expectAnswered(cluster)
  if (name in queryEvents && was?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')) {
    const { status: is } = cluster.world ?? {}
    if (is?.run?.endReason === 'Idle') return cluster
    const shown = (status: WorldStatus | undefined) => ({
      ...status,
      queue: undefined,
      idle: undefined,
      conditions: status?.conditions?.filter(({ type }) => type !== 'Responding' && type !== 'Idle'),
    })
    expect(shown(is)).toEqual(shown(was))
  }
  return cluster
}

describe('after any sequence of events', () => {
  test('reconciles settle, a further one writes nothing, and neither a second server is created nor a wanted one deleted', () => {
    fc.assert(
      fc.property(
        fc.array(anEvent, { maxLength: 30 }),
        fc.boolean(),
        aPolicy,
        aQuery,
        (names, withService, policy, asked) => {
          let cluster = settle(aCluster(withService ? 'ClusterIP' : 'Default', policy, asked))
          for (const name of names) cluster = settleAfter(name, cluster)
          const { world } = cluster
          if (world === undefined) return
          const again = look(cluster, world)
          expect(again.steps).toEqual([])
          expect(again.status).toEqual(world.status)
          expect(isPaused(world)).toBe(false)
          const { conditions = [], message = '' } = world.status ?? {}
          const degraded = conditions.find(({ type, status }) => type === 'Degraded' && status === 'True')
          expect(message, 'kubectl shows the cause').toContain(degraded?.message ?? '')
        },
      ),
      { numRuns: 1_000 },
    )
  })

  test('the invariants hold however often the operator reconciles or dies before a status write', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(anEvent, fc.constantFrom(skipsReconcile, executesAndCrashes)), { maxLength: 20 }),
        fc.constantFrom('Default' as const, 'ClusterIP' as const),
        aPolicy,
        aQuery,
        (sequence, strategy, policy, asked) => {
          let cluster = settle(aCluster(strategy, policy, asked))
          for (const [name, after] of sequence) cluster = after(events[name](cluster))
          cluster = settle(cluster)
          const { world, pod, service } = cluster
          if (world === undefined) return
          const { phase, deployment, run } = world.status ?? {}
          if (world.spec.state === 'Stopped') expect(phase).toBe('Stopped')
          if (phase === 'Active') expect(run?.readyAt).toBeDefined()
          if (deployment?.status === 'Running') expect(pod?.metadata.uid).toBe(deployment.externalId)
          if (deployment && hasEnded(deployment)) expect([pod, service]).toEqual([undefined, undefined])
        },
      ),
      { numRuns: 1_000 },
    )
  })
})

test('after any sequence of answers, silences and restarts, a server is Ready since the first answer of its pod', () => {
  const names = [
    'becomesReady',
    'isNoLongerReady',
    'fails',
    'isDeletedByHand',
    'isGone',
    'waitsBriefly',
    'waits',
  ] as const
  const aName = fc.constantFrom(...names, ...(Object.keys(queryEvents) as (keyof typeof queryEvents)[]))
  fc.assert(
    fc.property(fc.array(aName, { maxLength: 30 }), aQuery, (sequence, asked) => {
      let cluster = settle(aCluster('Default', {}, asked))
      for (const name of sequence) cluster = settleAfter(name, cluster)
      // Its pod is Ready and it answers, so nothing else is missing.
      const { pod, world } = settleAfter('answers', settleAfter('becomesReady', cluster))
      const { run, phase, conditions = [] } = world?.status ?? {}
      if (pod === undefined || run?.endReason !== undefined || pod.metadata.deletionTimestamp !== undefined) return
      expect(phase).toBe('Active')
      expect(conditions.find(({ type }) => type === 'Ready')?.status).toBe('True')
      expect(run?.readyPodUid).toBe(pod.metadata.uid)
    }),
    { numRuns: 300 },
  )
})

test('the status does not depend on the order in which the objects of a running world are observed', () => {
  const parts: Record<string, Event> = {
    scheduled: onPod((pod) => ({ ...pod, spec: { nodeName: 'node-1' } })),
    ready: onPod((pod) => ({ ...pod, status: ready() })),
    service: (cluster) => ({ ...cluster, service: aService('LoadBalancer') }),
    ingress: (cluster) => ({
      ...cluster,
      service: aService('LoadBalancer', { status: { loadBalancer: { ingress: [{ ip: '198.51.100.7' }] } } }),
    }),
    node: (cluster) => ({ ...cluster, node: aNode() }),
    queue: (cluster) => ({ ...cluster, queried: answered(3, 1), askedUid: cluster.pod?.metadata.uid }),
    again: (cluster) => cluster,
  }
  const start = {
    ...settle({ ...aCluster(), world: aWorld({ ...running, networking: { strategy: 'LoadBalancer' } }) }),
    node: undefined,
  }
  const bare = { ...start, pod: start.pod && { ...start.pod, spec: {} } }
  const seen = (order: string[]): unknown => {
    let cluster: Cluster = bare
    // The address of the service is observed last, after any order of the other parts.
    for (const name of [...order, 'ingress']) cluster = settle(parts[name]?.(cluster) ?? cluster)
    return timeless(cluster.world?.status)
  }
  const expected = seen(Object.keys(parts))
  expect(expected).toMatchObject({
    phase: 'Active',
    address: { host: '198.51.100.7' },
    queue: { active: 3, queued: 1 },
  })
  fc.assert(
    fc.property(fc.shuffledSubarray(Object.keys(parts), { minLength: 7 }), (order) => {
      expect(seen(order)).toEqual(expected)
    }),
    { numRuns: 500 },
  )
})
