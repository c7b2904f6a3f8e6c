import { postponeAcknowledgement } from '#operator/lifecycle/acknowledgement.ts'
import { changedPaths } from '#operator/lifecycle/changes.ts'
import { refusedStatus } from '#operator/lifecycle/conditions.ts'
import { findCondition } from '#operator/lifecycle/events.ts'
import { byWorld } from '#operator/lifecycle/execute/botCache.ts'
import type { DeletedUids } from '#operator/lifecycle/execute/deletedUids.ts'
import {
  type Creation,
  createOwned,
  deleteExact,
  ignoreError,
  patchExact,
  requireCurrent,
} from '#operator/lifecycle/execute/objects.ts'
import { deleteOwnerlessPod, requireOwnerGone, selectOwnerlessPods } from '#operator/lifecycle/execute/ownerlessPods.ts'
import { findPolicy } from '#operator/lifecycle/execute/policy.ts'
import { ownStatus, type ReconcileDeps, type Source, writeStatus } from '#operator/lifecycle/execute/status.ts'
import { explainRefusal, isRefusal, refusalReasons } from '#operator/lifecycle/refusal.ts'
import type { Tails } from '#operator/logs/tails.ts'
import { pickCachedFields } from '#operator/pods/cachedFields.ts'
import { type Diagnosis, podNameTaken } from '#operator/pods/diagnosis.ts'
import type { HttpRoute } from '#operator/pods/httpRoute.ts'
import type { Node } from '#operator/pods/node.ts'
import type { Pod } from '#operator/pods/pod.ts'
import { endOf } from '#operator/pods/podState.ts'
import type { Service } from '#operator/pods/service.ts'
import { isRunning } from '#shared/domain/phases.ts'
import type { Client } from '#shared/kube/client.ts'
import type { Result } from '#shared/kube/controller.ts'
import { isAlreadyExists, isNotFound } from '#shared/kube/errors.ts'
import { type KubeObject, objectKey } from '#shared/kube/objects.ts'
import type { Reflector } from '#shared/kube/reflector.ts'
import { withDefined } from '#shared/optional.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import type { World, WorldStatus } from '#shared/resources/world.ts'
import { inSpan } from '#shared/tracing/tracing.ts'
import { findAskedServer } from '../askedServer.ts'
import { worldEvents } from '../events.ts'
import type { HostPortUse } from '../hostPorts.ts'
import { keepsAwake, withoutSleepClock } from '../idle.ts'
import { buildPlaceholders } from '../placeholder.ts'
import { plan } from '../plan.ts'
import { buildPod } from '../pod.ts'
import type { PortPools } from '../portPools.ts'
import { routeNameTaken } from '../route.ts'
import { buildService, isServiceUsed, serviceNameTaken } from '../service.ts'
import type { WorldSettings } from '../settings.ts'
import { isPodDeletion, type Plan, type PlanInput, type Step } from '../step.ts'
import { type Found, readHidden } from './hidden.ts'
import { type HostPortPolicy, hostPortPolicyMissing } from './hostPortPolicy.ts'
import type { QueuePoll } from './queuePoll.ts'
import type { StateAge } from './stateAge.ts'
import { traceWorld, type WorldTrace } from './trace.ts'

/** The dependencies of a World's reconcile. */
export type WorldDeps = ReconcileDeps & {
  readonly worlds: Source<World>
  readonly deletedWorlds: DeletedUids
  readonly pods: Source<Pod>
  readonly services: Source<Service>
  /** Undefined if no setting names a Gateway. */
  readonly routes: Source<HttpRoute> | undefined
  readonly endpointSlices: Pick<Client<KubeObject>, 'create'>
  readonly serviceAge: StateAge
  readonly portPools: PortPools
  readonly hostPorts: HostPortUse
  readonly hostPortPolicy: HostPortPolicy
  readonly nodes: Source<Node>
  /** Indexed by `byWorld`. */
  readonly bots: Pick<Reflector<BotDeployment>, 'store'>
  readonly queuePoll: QueuePoll
  readonly tails: Pick<Tails, 'keep'> | undefined
  readonly settings: WorldSettings
  readonly newRunId: () => string
}

/** The dependencies of one reconcile. */
type TurnDeps = WorldDeps & { readonly trace: WorldTrace }

/** A step that the API server refused. */
type Refusal = { readonly error: unknown; readonly why: Diagnosis }

/**
 * Reconciles the World of that key (`namespace/name`): observes it, plans, executes the steps and writes the status once,
 * if it differs: before the steps if they delete a pod, otherwise after them. A refused step is written to the status
 * before the error is thrown for a retry, or by that retry.
 */
export const reconcileWorld = async (deps: WorldDeps, key: string, signal: AbortSignal): Promise<Result> => {
  await deleteOwnerlessServer(deps, key, signal)
  const input = await observe(deps, key, signal)
  if (input === undefined) {
    deps.queuePoll.stop(key)
    deps.runClock.forget(key)
    deps.serviceAge(key, undefined)
    deps.portPools.observe(key, deps.services.cache.store.get(key))
    deps.hostPorts.observe(key, deps.pods.cache.store.get(key))
    deps.hostPorts.forget(key)
    deps.acknowledgements.forget(key)
    return undefined
  }
  const trace = traceWorld(deps.tracing, input.world)
  return inSpan(trace.span, () => reconcileObserved({ ...deps, trace }, key, input, signal))
}

const reconcileObserved = async (
  deps: TurnDeps,
  key: string,
  input: PlanInput,
  signal: AbortSignal,
): Promise<Result> => {
  const { world, nowMs } = input
  const planned = plan(input)
  const hidden = await readHidden(deps, input, planned, signal)
  if (hidden !== undefined) return reconcileFound(deps, key, hidden, signal)
  await keepTails(deps, input, planned)
  const isRecorded = planned.steps.some(isPodDeletion) && (await recordFirst(deps, world, planned.status, signal))
  const result = await executeSteps(deps, input, planned.steps, signal)
  if ('found' in result) return reconcileFound(deps, key, { ...input, ...result.found }, signal)
  const { refusal } = result
  releasePorts(deps, key, input, refusal === undefined ? planned.steps : [])
  const done: Plan =
    refusal === undefined || isRecorded
      ? planned
      : {
          ...planned,
          status: refusedStatus(world.status, withoutSleepClock(planned.status), refusal.why, nowMs),
          ...withDefined({ detail: refusal.why.detail }),
        }
  pollQueue(deps, key, input, done.status)
  if (planned.deferStatus && refusal === undefined) {
    if (planned.steps.length > 0) logReconcile(deps, world, planned, [])
    // The priority is low, so that Ready pods come first. By then this pod may be Ready too, and one status write is enough.
    return { ...withDefined({ requeueAfterMs: planned.requeueAfterMs }), priority: 'low' }
  }
  const isIdle = !isRunning({ phase: 'Inactive', ...withDefined({ phase: done.status.phase }) })
  const acknowledgement = { ...done, before: world.status, isIdle, requeueAfterMs: planned.requeueAfterMs }
  const later = postponeAcknowledgement(deps.acknowledgements, key, acknowledgement)
  if (later !== undefined) return later
  const isWritten = isRecorded || (await writeStatus(deps.worlds, world, done.status, signal))
  if (isWritten || done.steps.length > 0) {
    logReconcile(deps, world, done, changedPaths(ownStatus(world.status), ownStatus(done.status)))
    deps.trace.recordReady(done.status)
    for (const event of worldEvents(world, done.status, done)) deps.events.record(world, event)
  }
  if (refusal !== undefined) throw refusal.error
  return withDefined({ requeueAfterMs: planned.requeueAfterMs })
}

/** Makes the ports of a service and a pod that were not created free for others. */
const releasePorts = (deps: WorldDeps, key: string, { pod, service }: PlanInput, done: readonly Step[]): void => {
  const isDone = (wanted: Step['verb']): boolean => done.some(({ verb }) => verb === wanted)
  if (service === undefined && !isDone('createService')) deps.portPools.observe(key, undefined)
  if (pod === undefined && !isDone('createPod')) deps.hostPorts.observe(key, undefined)
}

/** Reconciles again with objects that the caches do not show. Each can be found once, so this ends. */
const reconcileFound = async (deps: TurnDeps, key: string, found: Found, signal: AbortSignal): Promise<Result> => {
  const input = await observe(deps, key, signal, found)
  return input && reconcileObserved(deps, key, input, signal)
}

/**
 * Keeps the tail of the log of a server that ended or is lost, before its pod is deleted. Call it before the status is
 * written, because the API fetches the tail when it sees the status.
 */
const keepTails = async ({ tails }: WorldDeps, input: PlanInput, { status }: Plan): Promise<void> => {
  const { pod, node } = input
  if (tails === undefined || pod === undefined || node === 'gone') return
  if (pod.metadata.deletionTimestamp !== undefined) return
  const isLost = status.run?.countedPodUid === pod.metadata.uid || status.run?.endReason === 'StartDeadline'
  if (isLost || endOf(pod, 'server') !== undefined) await tails.keep(pod, 'server')
}

/** Deletes the server pod of a deleted World. The service is left to the garbage collector. */
const deleteOwnerlessServer = async (
  { worlds, deletedWorlds: deletedUids, pods, settings, log }: WorldDeps,
  key: string,
  signal: AbortSignal,
): Promise<void> => {
  const pod = pods.cache.store.get(key)
  if (pod === undefined) return
  const ref = withDefined({ namespace: pod.metadata.namespace, name: pod.metadata.name })
  const owner = { client: worlds.client, ref, uid: worlds.cache.store.get(key)?.metadata.uid, deletedUids }
  const left = selectOwnerlessPods(owner, [pod])
  if (left.length === 0) return
  await requireOwnerGone(owner, left, signal)
  await deleteOwnerlessPod(pods, pod, { role: 'server', settings, signal })
  log.info({ world: key, podUid: pod.metadata.uid }, 'deleted the server of a World that is gone')
}

/**
 * Writes the status before a pod is deleted, and returns true if it did. The write also proves that the World is current:
 * the cache of a new leader may be outdated, and a pod that looks outdated may be the newest. If there is nothing to write,
 * or if the write would remove a refusal from the status, the World is read instead.
 */
const recordFirst = async (
  { worlds }: WorldDeps,
  world: World,
  planned: WorldStatus,
  signal: AbortSignal,
): Promise<boolean> => {
  if (!showsRefusal(world.status) && (await writeStatus(worlds, world, planned, signal))) return true
  await requireCurrent(worlds.client, world.metadata, world, signal)
  return false
}

const showsRefusal = (status: WorldStatus | undefined): boolean =>
  status?.conditions?.some(({ reason }) => refusalReasons.includes(reason)) ?? false

/** Returns the input of the plan, or undefined if the World is gone. `found` is used where the caches show nothing. */
const observe = async (
  deps: WorldDeps,
  key: string,
  signal: AbortSignal,
  found: Found = {},
): Promise<PlanInput | undefined> => {
  const world = deps.worlds.cache.store.get(key)
  if (world === undefined) return undefined
  const pod = deps.pods.cache.store.get(key) ?? found.pod
  const service = deps.services.cache.store.get(key) ?? found.service
  const nodeName = pod?.spec?.nodeName
  return {
    world,
    pod,
    node: nodeName === undefined ? undefined : await readNode(deps, nodeName, signal),
    service,
    route: readRoute(deps, key) ?? found.route,
    serviceUnusedMs: deps.serviceAge(key, isServiceUsed({ world, service, pod }) ? undefined : service?.metadata.uid),
    policy: await findPolicy(deps.namespaces, world.metadata.namespace, signal),
    queried: deps.queuePoll.report(key, pod?.metadata.uid ?? ''),
    answerAgeMs: deps.queuePoll.answerAgeMs(key, pod?.metadata.uid ?? ''),
    hasBots: hasBots(deps, key, world),
    settings: deps.settings,
    hostPorts: deps.hostPorts.of(key),
    nowMs: deps.runClock.now(key, world.spec.runId ?? world.status?.runId),
    newRunId: deps.newRunId,
    allotPorts: (request) => deps.portPools.allot(key, request),
  }
}

const hasBots = ({ bots }: WorldDeps, key: string, { spec, status }: World): boolean =>
  spec.idleStopMinutes !== undefined &&
  bots.store.byIndex(byWorld, key).some((each) => keepsAwake(each, status?.run?.id))

/** Returns a node. Reads it from the API server if the cache lacks it, because a missing node counts as dead. */
const readNode = async ({ nodes }: WorldDeps, name: string, signal: AbortSignal): Promise<Node | 'gone'> =>
  nodes.cache.store.get(name) ?? (await ignoreError(isNotFound, nodes.client.get({ name }, { signal }))) ?? 'gone'

const readRoute = ({ routes }: WorldDeps, key: string): PlanInput['route'] =>
  routes?.cache.isServed() ? routes.cache.store.get(key) : 'unserved'

const pollQueue = ({ queuePoll }: WorldDeps, key: string, input: PlanInput, status: WorldStatus): void => {
  const server = findAskedServer(input, status)
  if (server === undefined) queuePoll.stop(key)
  else queuePoll.start(key, server)
}

const logReconcile = (deps: WorldDeps, world: World, { steps, status, detail }: Plan, changed: readonly string[]) => {
  const { runId, phase, message = '' } = status
  const why = findCondition(status, 'Ready')?.reason
  const verbs = steps.map(({ verb }) => verb)
  deps.log.info(
    { world: objectKey(world), runId, phase, steps: verbs, changed, why, message, detail },
    'reconciled world',
  )
}

/** Executes the steps up to the first that is refused. A refused repair does not keep a server from stopping. */
const executeSteps = async (
  deps: TurnDeps,
  input: PlanInput,
  steps: readonly Step[],
  signal: AbortSignal,
): Promise<Executed> => {
  let refusal: Refusal | undefined
  for (const step of steps) {
    try {
      const result = await execute(deps, input, step, signal)
      if (result !== undefined) return result
    } catch (error) {
      if (!isRefusal(error)) throw error
      refusal ??= { error, why: explainRefusal(error, objectOf(step)) }
      if (!step.verb.startsWith('repair')) break
    }
  }
  return withDefined({ refusal })
}

const objectOf = ({ verb }: Step): string => {
  if (verb.endsWith('Route')) return 'route'
  return verb.endsWith('Service') ? 'service' : 'server'
}

/** The result of steps: the first that was refused, or the first whose object exists already. */
type Executed = { readonly refusal?: Refusal } | { readonly found: Found }

const execute = async (
  deps: TurnDeps,
  { world, policy, nowMs }: PlanInput,
  step: Step,
  signal: AbortSignal,
): Promise<Executed | undefined> => {
  const { name, resourceVersion } = world.metadata
  switch (step.verb) {
    case 'createPod':
      return inSpan(deps.trace.startPod(step.run), async () => {
        const pod = buildPod(world, step.run, deps.settings, policy, step.hostPorts)
        if (step.hostPorts !== undefined && !(await deps.hostPortPolicy.isEnforced(pod, signal))) {
          return { refusal: { error: new Error(hostPortPolicyMissing.message), why: hostPortPolicyMissing } }
        }
        return settle(await createOwned(deps.pods, world, pod, signal), podNameTaken(name), (present) => ({
          pod: pickCachedFields(present),
        }))
      })
    case 'createService': {
      const service = buildService(world, step.run, deps.settings, policy, step.numbers)
      return settle(await createOwned(deps.services, world, service, signal), serviceNameTaken(name), (present) => ({
        service: present,
      }))
    }
    case 'createRoute':
      return settle(
        await createOwned(routesOf(deps), step.service, step.route, signal),
        routeNameTaken(name),
        (route) => ({ route }),
      )
    case 'repairRoute':
      await patchExact(routesOf(deps), step.route, step.patch, signal)
      return undefined
    case 'deletePod':
      await deleteExact(deps.pods, step.pod, { ...withDefined({ gracePeriodSeconds: step.graceSeconds }), signal })
      return undefined
    case 'replacePod': {
      const { resourceVersion: podVersion } = step.pod.metadata
      // It may get a node meanwhile.
      await deleteExact(deps.pods, step.pod, { ...withDefined({ resourceVersion: podVersion }), signal })
      deps.hostPorts.replace(objectKey(world.metadata), step.run.id, step.pod, nowMs)
      return undefined
    }
    case 'forceDeletePod':
      await deleteExact(deps.pods, step.pod, { gracePeriodSeconds: 0, signal })
      return undefined
    case 'addPlaceholders':
      for (const slice of buildPlaceholders(step.service)) {
        await ignoreError(isAlreadyExists, deps.endpointSlices.create(slice, { signal }))
      }
      return undefined
    case 'deleteService':
      await deleteExact(deps.services, step.service, { signal })
      return undefined
    case 'repairService':
      await patchExact(deps.services, step.service, step.patch, signal)
      return undefined
    case 'repairPod':
      await patchExact(deps.pods, step.pod, step.patch, signal)
      return undefined
    case 'deleteWorld':
      await deleteExact(deps.worlds, world, { signal, ...withDefined({ resourceVersion }) })
      return undefined
  }
}

/** Returns the source of routes. No plan has a step for a route without it. */
const routesOf = ({ routes }: WorldDeps): Source<HttpRoute> => {
  if (routes === undefined) throw new Error('A route was planned without a Gateway.')
  return routes
}

const settle = <T>(creation: Creation<T>, taken: Diagnosis, toFound: (object: T) => Found): Executed | undefined => {
  if (creation.kind === 'exists') return { found: toFound(creation.object) }
  return creation.kind === 'taken' ? { refusal: { error: creation.error, why: taken } } : undefined
}
