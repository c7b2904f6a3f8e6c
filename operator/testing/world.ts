import { findCondition } from '#operator/lifecycle/events.ts'
import type { Node } from '#operator/pods/node.ts'
import type { Pod } from '#operator/pods/pod.ts'
import type { Service } from '#operator/pods/service.ts'
import { createHostPortUse } from '#operator/world/hostPorts.ts'
import { plan } from '#operator/world/plan.ts'
import { buildPod } from '#operator/world/pod.ts'
import { createPortPools } from '#operator/world/portPools.ts'
import type { QueryResult } from '#operator/world/query/answer.ts'
import { servicePortsOf } from '#operator/world/service.ts'
import type { WorldSettings } from '#operator/world/settings.ts'
import type { Plan, PlanInput } from '#operator/world/step.ts'
import { defaultPorts } from '#shared/domain/ports.ts'
import { withDefined } from '#shared/optional.ts'
import { podSelectors } from '#shared/resources/selectors.ts'
import {
  type GrantedRun,
  type World,
  type WorldRun,
  type WorldSpecInput,
  type WorldStatus,
  worldSpecSchema,
} from '#shared/resources/world.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'
import { at, commonSettings, controllerReference, namespace, runA, runB, startMs } from './common.ts'

// Worlds and pods for the tests of plans, in words that read as sentences.

export const settings: WorldSettings = {
  defaultServerImage: 'registry.example/server:1',
  ...commonSettings,
  stopGraceSeconds: 60,
  notReadyDeadlineMs: 300_000,
  nodeLostForceMs: 0,
  profiles: scalingProfiles,
  placement: [],
  defaultStrategy: 'PodIP',
  nodeAddressTypes: ['ExternalIP', 'InternalIP'],
  hostPorts: new Map([
    ['default', [{ first: 7000, last: 8000 }]],
    ['static', [{ first: 27_015, last: 27_020 }]],
  ]),
}

export const running = { state: 'Running', runId: runA, startedAt: at(startMs), revision: 2 } as const
export const stopped = { ...running, state: 'Stopped', revision: 3 } as const

/** The spec of a running world whose server is asked by that query. */
export const asked = (query: NonNullable<WorldSpecInput['runtime']>['query'], probes = true): WorldSpecInput => ({
  ...running,
  runtime: { probes, ...withDefined({ query }) },
})

// The results of polls of a server.
export const answered = (active = 3, queued = 0): QueryResult => ({ kind: 'answered', queue: { active, queued } })
export const silent: QueryResult = { kind: 'unanswered', reason: 'NoAnswer', why: 'The server has not answered.' }
export const foreign: QueryResult = {
  kind: 'unanswered',
  reason: 'UnknownAnswer',
  why: 'The answer is of another protocol. Check the protocol.',
}

/** The policy of the namespace of an organization. */
export const tenant = { organization: 'org-00000000000000000000000001' } as const

/** The grant of runA to the world of `aWorld` in that namespace. */
export const aGrant = (changes: Partial<GrantedRun> = {}): GrantedRun => ({
  uid: 'world-uid',
  organizationId: tenant.organization,
  projectId: 'prj-00000000000000000000000001',
  worldId: 'wld-00000000000000000000000001',
  id: runA,
  startedAt: at(startMs),
  profile: 'Capacity30',
  mapName: 'hall',
  capacity: 20,
  probes: true,
  args: ['--granted'],
  strategy: 'Default',
  ports: defaultPorts,
  compute: { group: 'production', region: 'Europe' },
  ...changes,
})

export const aWorld = (
  spec: WorldSpecInput,
  status?: WorldStatus,
  metadata: Partial<World['metadata']> = {},
): World => ({
  apiVersion: 'orrery.dev/v1alpha1',
  kind: 'World',
  metadata: {
    name: 'wld-00000000000000000000000001',
    namespace,
    uid: 'world-uid',
    generation: 1,
    resourceVersion: '10',
    ...metadata,
  },
  spec: worldSpecSchema.parse(spec),
  ...withDefined({ status }),
})

/** Returns the world with the status of a plan. */
export const applyStatus = (world: World, planned: Plan, changes: Partial<World> = {}): World => ({
  ...world,
  status: planned.status,
  ...changes,
})

export const aPod = (changes: { run?: string; uid?: string; metadata?: object; status?: Pod['status'] } = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'wld-00000000000000000000000001',
    namespace,
    uid: changes.uid ?? 'pod-uid',
    labels: { ...podSelectors.serverOf('wld-00000000000000000000000001', changes.run ?? runA) },
    ownerReferences: [controllerReference('World', 'wld-00000000000000000000000001', 'world-uid')],
    ...changes.metadata,
  },
  spec: { nodeName: 'node-1' },
  status: changes.status ?? { phase: 'Pending' },
})

/** The pod that the operator creates for a run. */
export const podOfRun = (run: WorldRun, uid = 'pod-uid'): Pod => {
  const { annotations } = buildPod(aWorld({}), run, settings).metadata
  return aPod({ run: run.id, uid, metadata: { annotations } })
}

/** The pod that a plan creates. */
export const podOf = ({ steps }: Plan, uid?: string): Pod => {
  const [step] = steps.filter((each) => each.verb === 'createPod')
  if (step === undefined) throw new Error('The plan creates no pod.')
  return podOfRun(step.run, uid)
}

type PodStatus = NonNullable<Pod['status']>

export const ready = (sinceMs = startMs + 1_000): PodStatus => ({
  phase: 'Running',
  podIP: '10.0.0.7',
  conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: at(sinceMs) }],
})

/** The status of a pod whose container started a second after `startMs`, and which is not Ready since then. */
export const notReady = (sinceMs: number): PodStatus => ({
  phase: 'Running',
  podIP: '10.0.0.7',
  conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: at(sinceMs) }],
  containerStatuses: [{ name: 'server', state: { running: { startedAt: at(startMs + 1_000) } } }],
})

/** The status of a pod whose container waits for that reason. */
export const waitingFor = (reason: string, message = ''): PodStatus => ({
  phase: 'Pending',
  containerStatuses: [{ name: 'server', state: { waiting: { reason, message } } }],
})

export const outOfMemory: PodStatus = {
  phase: 'Failed',
  containerStatuses: [{ name: 'server', state: { terminated: { exitCode: 137, reason: 'OOMKilled' } } }],
}

export const evicted: PodStatus = { phase: 'Failed', reason: 'Evicted', message: 'the node was low on memory' }

/** A node with that status of its Ready condition. */
export const aNode = (ready: 'True' | 'False' | 'Unknown' = 'True', changes: Partial<Node> = {}): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'node-1', uid: 'node-uid' },
  status: {
    conditions: [{ type: 'Ready', status: ready, lastTransitionTime: at(startMs) }],
    addresses: [
      { type: 'InternalIP', address: '192.168.0.1' },
      { type: 'ExternalIP', address: '203.0.113.1' },
    ],
  },
  ...changes,
})

/** The service of a run. */
export const aService = (
  type: string,
  changes: { run?: string; spec?: Service['spec']; status?: Service['status']; metadata?: object } = {},
): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    ...aPod(withDefined({ run: changes.run })).metadata,
    uid: 'service-uid',
    ...changes.metadata,
  },
  spec: {
    type,
    clusterIP: '10.96.0.5',
    ports: servicePortsOf({ ports: defaultPorts }),
    selector: podSelectors.serverOf('wld-00000000000000000000000001', changes.run ?? runA),
    ...changes.spec,
  },
  ...withDefined({ status: changes.status }),
})

/** The world of runA after its first status, and once it is Active. */
export const captured = (spec: WorldSpecInput = running): World => applyStatus(aWorld(spec), planFor(aWorld(spec)))
export const active = (spec: WorldSpecInput = running): World =>
  applyStatus(captured(spec), planFor(captured(spec), aPod({ status: ready() })))

/** A condition of a status, as `status/reason`. */
export const conditionOf = (status: WorldStatus, type: string): string => {
  const condition = findCondition(status, type)
  return `${condition?.status}/${condition?.reason}`
}

/** Plans one reconcile at `nowMs` (default: the start of the run). */
export const planFor = (
  world: World,
  pod?: Pod,
  nowMs = startMs,
  newRunId = runB,
  around: Partial<PlanInput> = {},
): Plan =>
  plan({
    world,
    pod,
    settings,
    nowMs,
    node: undefined,
    service: undefined,
    route: 'unserved',
    serviceUnusedMs: Number.POSITIVE_INFINITY,
    queried: undefined,
    answerAgeMs: 0,
    hasBots: false,
    policy: {},
    newRunId: () => newRunId,
    allotPorts,
    hostPorts: createHostPortUse(settings.hostPorts).of('default/world'),
    ...around,
  })

/** Allots ports of pools that no other world uses. */
export const allotPorts: PlanInput['allotPorts'] = (request) => createPortPools().allot('default/world', request)

/** The verbs of the steps of a plan. */
export const verbs = (planned: Plan): string[] => planned.steps.map((step) => step.verb)

/** Plans and executes until no step is left for this time. Pods are created without a status and deleted at once. */
export const settle = (world: World, pod: Pod | undefined, nowMs: number): { world: World; pod: Pod | undefined } => {
  let now = { world, pod }
  for (let round = 0; round < 10; round += 1) {
    const planned = planFor(now.world, now.pod, nowMs)
    let next: Pod | undefined = now.pod
    for (const step of planned.steps) {
      if (step.verb === 'createPod') next = podOfRun(step.run, `pod-${round}-${nowMs}`)
      if (step.verb === 'deletePod') next = undefined
    }
    now = { world: planned.deferStatus ? now.world : applyStatus(now.world, planned), pod: next }
    if (planned.steps.length === 0 && planned.requeueAfterMs !== 0) return now
  }
  throw new Error('The world did not settle in 10 reconciles.')
}
