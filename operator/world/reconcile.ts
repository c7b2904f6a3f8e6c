import { ownPart, ownWriteTimeoutMs, type Source, writeStatus } from '#operator/ownStatus.ts'
import { type Diagnosis, explainRefusal, isRefusal } from '#operator/refusal.ts'
import type { RunClock } from '#operator/runClock.ts'
import type { Client } from '#shared/kube/client.ts'
import type { Result } from '#shared/kube/controller.ts'
import { isAlreadyExists, isNotFound, KubeError } from '#shared/kube/errors.ts'
import type { EventRecorder } from '#shared/kube/events.ts'
import { controllerOf, type KubeObject, objectKey } from '#shared/kube/objects.ts'
import type { Log } from '#shared/log.ts'
import { type World, type WorldStatus, worldSpecSchema } from '#shared/resources/world.ts'
import { changedPaths } from './changes.ts'
import { eventsOf } from './events.ts'
import type { Node } from './node.ts'
import { plan, podNameTaken } from './plan.ts'
import { buildPod, type Pod } from './pod.ts'
import type { QueuePoll } from './queuePoll.ts'
import { buildService, type Service, serviceNameTaken } from './service.ts'
import type { WorldSettings } from './settings.ts'
import { refusedStatus } from './status.ts'
import type { PlanInput, Step } from './step.ts'

/** What a reconcile of a World works with. */
export type WorldDeps = {
  readonly worlds: Source<World>
  readonly pods: Source<Pod>
  readonly services: Source<Service>
  readonly nodes: Source<Node>
  readonly queue: QueuePoll
  readonly runClock: RunClock
  readonly settings: WorldSettings
  readonly newRunId: () => string
  readonly events: Pick<EventRecorder, 'record'>
  readonly log: Log
}

/** A step that the API server did not take, and why, in words for the status. */
type Refusal = { readonly error: KubeError; readonly why: Diagnosis }

/**
 * Reconciles the World of that key (`namespace/name`): observes it and what belongs to it, plans, does the steps and
 * writes the status once, if it differs. A refused step is told in the status before the error goes up to be retried.
 */
export const reconcileWorld = async (deps: WorldDeps, key: string, signal: AbortSignal): Promise<Result> => {
  const input = await observe(deps, key, signal)
  if (input === undefined) {
    deps.queue.forget(key)
    deps.runClock.forget(key)
    return
  }
  const { world } = input
  const planned = plan(input)
  const refusal = await executeAll(deps, world, planned.steps, signal)
  if (planned.tellLater && refusal === undefined) {
    // The pod that was made brings the world to the queue again, behind those that have none yet.
    log(deps, world, planned.status, { steps: planned.steps, changed: [] })
    return
  }
  const status = refusal === undefined ? planned.status : refusedStatus(input, planned.status, refusal.why)
  const isWritten = await writeStatus(deps.worlds, world, status, signal)
  askForQueue(deps, key, input, status)
  if (isWritten || planned.steps.length > 0) {
    const changed = changedPaths(ownPart(world.status), ownPart(status))
    log(deps, world, status, { steps: planned.steps, changed })
    for (const event of eventsOf(world, status, planned.steps)) deps.events.record(world, event)
  }
  if (refusal !== undefined) throw refusal.error
  return planned.requeueAfterMs === undefined ? undefined : { requeueAfterMs: planned.requeueAfterMs }
}

/** Everything that the plan depends on; undefined where there is no World of that key any more. */
const observe = async (deps: WorldDeps, key: string, signal: AbortSignal): Promise<PlanInput | undefined> => {
  const seen = deps.worlds.cache.store.get(key)
  if (seen === undefined) return undefined
  const world = { ...seen, spec: worldSpecSchema.parse(seen.spec) }
  const pod = deps.pods.cache.store.get(key)
  const name = pod?.spec?.nodeName
  return {
    world,
    pod,
    node:
      name === undefined ? undefined : (deps.nodes.cache.store.get(name) ?? (await lookForNode(deps, name, signal))),
    service: deps.services.cache.store.get(key),
    queue: deps.queue.report(key, pod?.metadata.uid ?? ''),
    settings: deps.settings,
    nowMs: deps.runClock.now(key, world.spec.runId ?? world.status?.runId),
    newRunId: deps.newRunId,
  }
}

/** The cache may not have a new node yet, and that a node is gone has consequences: so the API server is asked. */
const lookForNode = async ({ nodes }: WorldDeps, name: string, signal: AbortSignal): Promise<Node | 'gone'> =>
  (await unless(isNotFound, nodes.client.get({ name }, { signal }))) ?? 'gone'

/** The server of an Active world is asked how many are inside; all others are left alone. */
const askForQueue = (deps: WorldDeps, key: string, { pod }: PlanInput, status: WorldStatus): void => {
  const isReady = status.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True')
  const host = pod?.status?.podIP
  const podUid = pod?.metadata.uid
  if (isReady && status.run?.probes && host !== undefined && podUid !== undefined) {
    deps.queue.follow(key, { podUid, host, known: status.queue })
  } else deps.queue.forget(key)
}

/** One line for the operators of the platform. */
const log = (
  deps: WorldDeps,
  world: World,
  { runId, phase, message = '', conditions }: WorldStatus,
  { steps, changed }: { steps: readonly Step[]; changed: readonly string[] },
): void => {
  const why = conditions?.find(({ type }) => type === 'Ready')?.reason
  const done = steps.map((step) => step.verb)
  deps.log.info({ world: objectKey(world), runId, phase, steps: done, changed, why, message }, 'reconciled')
}

const executeAll = async (
  deps: WorldDeps,
  world: World,
  steps: readonly Step[],
  signal: AbortSignal,
): Promise<Refusal | undefined> => {
  for (const step of steps) {
    try {
      const refusal = await execute(deps, world, step, signal)
      if (refusal !== undefined) return refusal
    } catch (error) {
      if (!isRefusal(error)) throw error
      return { error, why: explainRefusal(error, step.verb.endsWith('Service') ? 'the service' : 'the server') }
    }
  }
  return undefined
}

const execute = async (
  deps: WorldDeps,
  world: World,
  step: Step,
  signal: AbortSignal,
): Promise<Refusal | undefined> => {
  switch (step.verb) {
    case 'createPod':
      return create(deps.pods, world, buildPod(world, step.run, deps.settings), podNameTaken, signal)
    case 'createService':
      return create(deps.services, world, buildService(world, step.run), serviceNameTaken, signal)
    case 'deletePod':
    case 'forceDeletePod': {
      const grace = step.verb === 'forceDeletePod' ? { gracePeriodSeconds: 0 } : {}
      await remove(deps.pods, step.pod, { ...grace, signal })
      return undefined
    }
    case 'deleteService':
      await remove(deps.services, step.service, { signal })
      return undefined
    case 'deleteWorld': {
      const { resourceVersion } = world.metadata
      await remove(deps.worlds, world, { signal, ...(resourceVersion ? { resourceVersion } : {}) })
      return undefined
    }
  }
}

/** Creates what bears the world's name; one that is there already is either ours, and soon seen, or in the way. */
const create = async <T extends KubeObject>(
  { client, cache }: Source<T>,
  world: World,
  object: KubeObject & { spec: object },
  taken: (name: string) => Diagnosis,
  signal: AbortSignal,
): Promise<Refusal | undefined> => {
  try {
    const created = await client.create(object, { signal })
    await cache.reached(created.metadata.resourceVersion ?? '', { timeoutMs: ownWriteTimeoutMs })
    return undefined
  } catch (error) {
    if (!(error instanceof KubeError) || !isAlreadyExists(error)) throw error
    const { name, namespace } = world.metadata
    const present = await unless(isNotFound, client.get(reference(name, namespace), { signal }))
    // Gone between the two calls: no event tells of a stranger's end, so it is tried again.
    if (present === undefined) throw error
    return controllerOf(present)?.uid === world.metadata.uid ? undefined : { error, why: taken(name) }
  }
}

/** Deletes exactly that object; one that is gone already is no fault. */
const remove = async <T extends KubeObject>(
  { client }: Source<T>,
  { metadata: { name, namespace, uid } }: T,
  options: Parameters<Client<T>['delete']>[1],
): Promise<void> => {
  await unless(
    isNotFound,
    client.delete(reference(name, namespace), { ...options, ...(uid === undefined ? {} : { uid }) }),
  )
}

const reference = (name: string, namespace: string | undefined): { name: string; namespace?: string } =>
  namespace === undefined ? { name } : { name, namespace }

const unless = async <T>(expected: (error: unknown) => boolean, call: Promise<T>): Promise<T | undefined> => {
  try {
    return await call
  } catch (error) {
    if (expected(error)) return undefined
    throw error
  }
}
