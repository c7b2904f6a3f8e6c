import { changedPaths } from '#operator/lifecycle/changes.ts'
import { refusedStatus } from '#operator/lifecycle/conditions.ts'
import { findCondition, isTrue } from '#operator/lifecycle/events.ts'
import { createOwned, deleteExact, ignoreError } from '#operator/lifecycle/execute/objects.ts'
import { ownStatus, type Source, writeStatus } from '#operator/lifecycle/execute/status.ts'
import { explainRefusal, isRefusal } from '#operator/lifecycle/refusal.ts'
import type { RunClock } from '#operator/lifecycle/runClock.ts'
import { type Diagnosis, podNameTaken } from '#operator/pods/diagnosis.ts'
import type { Node } from '#operator/pods/node.ts'
import type { Pod } from '#operator/pods/pod.ts'
import type { Service } from '#operator/pods/service.ts'
import type { Result } from '#shared/kube/controller.ts'
import { isNotFound } from '#shared/kube/errors.ts'
import type { EventRecorder } from '#shared/kube/events.ts'
import { type KubeObject, objectKey } from '#shared/kube/objects.ts'
import type { Log } from '#shared/log.ts'
import { withDefined } from '#shared/optional.ts'
import { type World, type WorldStatus, worldSpecSchema } from '#shared/resources/world.ts'
import { worldEvents } from '../events.ts'
import { plan } from '../plan.ts'
import { buildPod } from '../pod.ts'
import { buildService, serviceNameTaken } from '../service.ts'
import type { WorldSettings } from '../settings.ts'
import type { Plan, PlanInput, Step } from '../step.ts'
import type { QueuePoll } from './queuePoll.ts'

/** The dependencies of a World's reconcile. */
export type WorldDeps = {
  readonly worlds: Source<World>
  readonly pods: Source<Pod>
  readonly services: Source<Service>
  readonly nodes: Source<Node>
  readonly queuePoll: QueuePoll
  readonly runClock: RunClock
  readonly settings: WorldSettings
  readonly newRunId: () => string
  readonly events: Pick<EventRecorder, 'record'>
  readonly log: Log
}

/** A step that the API server refused. */
type Refusal = { readonly error: unknown; readonly why: Diagnosis }

/**
 * Reconciles the World of that key (`namespace/name`): observes it, plans, executes the steps and writes the status once,
 * if it differs. A refused step is written to the status before the error is thrown for a retry.
 */
export const reconcileWorld = async (deps: WorldDeps, key: string, signal: AbortSignal): Promise<Result> => {
  const input = await observe(deps, key, signal)
  if (input === undefined) {
    deps.queuePoll.stop(key)
    deps.runClock.forget(key)
    return
  }
  const { world, nowMs } = input
  const planned = plan(input)
  const refusal = await executeSteps(deps, world, planned.steps, signal)
  if (planned.deferStatus && refusal === undefined) {
    logReconcile(deps, world, planned, [])
    return
  }
  const done: Plan =
    refusal === undefined
      ? planned
      : {
          ...planned,
          status: refusedStatus(world.status, planned.status, refusal.why, nowMs),
          ...withDefined({ detail: refusal.why.detail }),
        }
  const isWritten = await writeStatus(deps.worlds, world, done.status, signal)
  pollQueue(deps, key, input, done.status)
  if (isWritten || done.steps.length > 0) {
    logReconcile(deps, world, done, changedPaths(ownStatus(world.status), ownStatus(done.status)))
    for (const event of worldEvents(world, done.status, done)) deps.events.record(world, event)
  }
  if (refusal !== undefined) throw refusal.error
  return withDefined({ requeueAfterMs: planned.requeueAfterMs })
}

/** Returns everything that the plan depends on, or undefined if the World is gone. */
const observe = async (deps: WorldDeps, key: string, signal: AbortSignal): Promise<PlanInput | undefined> => {
  const cached = deps.worlds.cache.store.get(key)
  if (cached === undefined) return undefined
  const world = { ...cached, spec: worldSpecSchema.parse(cached.spec) }
  const pod = deps.pods.cache.store.get(key)
  const nodeName = pod?.spec?.nodeName
  return {
    world,
    pod,
    node: nodeName === undefined ? undefined : await readNode(deps, nodeName, signal),
    service: deps.services.cache.store.get(key),
    queue: deps.queuePoll.report(key, pod?.metadata.uid ?? ''),
    settings: deps.settings,
    nowMs: deps.runClock.now(key, world.spec.runId ?? world.status?.runId),
    newRunId: deps.newRunId,
  }
}

/** A missing node has consequences and the cache may be behind, so the API server is asked for it. */
const readNode = async ({ nodes }: WorldDeps, name: string, signal: AbortSignal): Promise<Node | 'gone'> =>
  nodes.cache.store.get(name) ?? (await ignoreError(isNotFound, nodes.client.get({ name }, { signal }))) ?? 'gone'

/** Polls the queue of a Ready server with probes, and no other. */
const pollQueue = (deps: WorldDeps, key: string, { pod }: PlanInput, status: WorldStatus): void => {
  const host = pod?.status?.podIP
  const podUid = pod?.metadata.uid
  if (isTrue(status, 'Ready') && status.run?.probes && host !== undefined && podUid !== undefined) {
    deps.queuePoll.start(key, { podUid, host, recorded: status.queue })
  } else deps.queuePoll.stop(key)
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

const executeSteps = async (
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
      return { error, why: explainRefusal(error, step.verb.endsWith('Service') ? 'service' : 'server') }
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
  const { name, resourceVersion } = world.metadata
  switch (step.verb) {
    case 'createPod':
      return create(deps.pods, world, buildPod(world, step.run, deps.settings), podNameTaken(name, 'server'), signal)
    case 'createService':
      return create(deps.services, world, buildService(world, step.run), serviceNameTaken(name), signal)
    case 'deletePod':
      await deleteExact(deps.pods, step.pod, { signal })
      return undefined
    case 'forceDeletePod':
      await deleteExact(deps.pods, step.pod, { gracePeriodSeconds: 0, signal })
      return undefined
    case 'deleteService':
      await deleteExact(deps.services, step.service, { signal })
      return undefined
    case 'deleteWorld':
      await deleteExact(deps.worlds, world, { signal, ...withDefined({ resourceVersion }) })
      return undefined
  }
}

const create = async <T extends KubeObject>(
  source: Source<T>,
  world: World,
  object: KubeObject & { spec: object },
  taken: Diagnosis,
  signal: AbortSignal,
): Promise<Refusal | undefined> => {
  const creation = await createOwned(source, world, object, signal)
  return creation.kind === 'taken' ? { error: creation.error, why: taken } : undefined
}
