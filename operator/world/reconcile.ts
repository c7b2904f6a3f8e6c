import { isDeepStrictEqual } from 'node:util'
import type { Client } from '#shared/kube/client.ts'
import type { Result } from '#shared/kube/controller.ts'
import { isAlreadyExists, isNotFound, KubeError } from '#shared/kube/errors.ts'
import type { EventRecorder } from '#shared/kube/events.ts'
import { objectKey } from '#shared/kube/objects.ts'
import type { Reflector } from '#shared/kube/reflector.ts'
import type { Log } from '#shared/log.ts'
import { fieldManagers, groupVersion, isPaused, worldResource } from '#shared/resources/group.ts'
import { type World, type WorldStatus, worldSpecSchema } from '#shared/resources/world.ts'
import { changedPaths } from './changes.ts'
import { eventsOf } from './events.ts'
import { plan } from './plan.ts'
import { buildPod, type Pod } from './pod.ts'
import type { WorldSettings } from './settings.ts'
import type { Step } from './step.ts'

/** What a reconcile of a World works with. */
export type WorldDeps = {
  readonly worlds: { readonly client: Client<World>; readonly cache: Reflector<World> }
  readonly pods: { readonly client: Client<Pod>; readonly cache: Reflector<Pod> }
  readonly settings: WorldSettings
  readonly now: () => number
  readonly newRunId: () => string
  readonly events: Pick<EventRecorder, 'record'>
  readonly log: Log
}

/** How long a reconcile waits for the caches to show what it wrote; past that, a conflict would tell it. */
const ownWriteTimeoutMs = 5_000

/**
 * Reconciles the World of that key (`namespace/name`): observes it and its pod in the caches, plans, does the steps and
 * writes the status once, if it differs. A refused step is told in the status before the error goes up to be retried.
 */
export const reconcileWorld = async (deps: WorldDeps, key: string, signal: AbortSignal): Promise<Result> => {
  const seen = deps.worlds.cache.store.get(key)
  if (seen === undefined || isPaused(seen)) return
  const world = { ...seen, spec: worldSpecSchema.parse(seen.spec) }
  const pod = deps.pods.cache.store.get(key)
  const planned = plan({ world, pod, settings: deps.settings, nowMs: deps.now(), newRunId: deps.newRunId })
  const refusal = await executeAll(deps, world, planned.steps, signal)
  const status = refusal === undefined ? planned.status : withRefusal(planned.status, refusal)
  const changed = await writeStatus(deps, world, status, signal)
  if (changed || planned.steps.length > 0) tell(deps, world, status, planned.steps)
  if (refusal !== undefined) throw refusal
  return planned.requeueAfterMs === undefined ? undefined : { requeueAfterMs: planned.requeueAfterMs }
}

/** One line for the operators of the platform, and events for the users of the world. */
const tell = (deps: WorldDeps, world: World, status: WorldStatus, steps: readonly Step[]): void => {
  const done = steps.map((step) => step.verb)
  const changed = changedPaths(ownPart(world.status), ownPart(status))
  const why = status.conditions?.find(({ type }) => type === 'Ready')?.reason
  const { runId, phase, message = '' } = status
  deps.log.info({ world: objectKey(world), runId, phase, steps: done, changed, why, message }, 'reconciled')
  for (const event of eventsOf(world, status, steps)) deps.events.record(world, event)
}

const executeAll = async (
  deps: WorldDeps,
  world: World,
  steps: readonly Step[],
  signal: AbortSignal,
): Promise<KubeError | undefined> => {
  for (const step of steps) {
    try {
      await execute(deps, world, step, signal)
    } catch (error) {
      if (error instanceof KubeError && [403, 422].includes(error.status)) return error
      throw error
    }
  }
  return undefined
}

const execute = async (deps: WorldDeps, world: World, step: Step, signal: AbortSignal): Promise<void> => {
  switch (step.verb) {
    case 'createPod': {
      // A pod of that name that the cache does not show yet is looked at by the reconcile that its event brings.
      const created = await unless(
        isAlreadyExists,
        deps.pods.client.create(buildPod(world, step.run, deps.settings), { signal }),
      )
      if (created)
        await deps.pods.cache.reached(created.metadata.resourceVersion ?? '', { timeoutMs: ownWriteTimeoutMs })
      return
    }
    case 'deletePod': {
      const { name, namespace, uid } = step.pod.metadata
      await unless(
        isNotFound,
        deps.pods.client.delete(reference(name, namespace), { signal, ...(uid === undefined ? {} : { uid }) }),
      )
      return
    }
    case 'deleteWorld': {
      const { name, namespace, uid, resourceVersion } = world.metadata
      const exactly = { signal, ...(uid ? { uid } : {}), ...(resourceVersion ? { resourceVersion } : {}) }
      await unless(isNotFound, deps.worlds.client.delete(reference(name, namespace), exactly))
      return
    }
  }
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

const withRefusal = (status: WorldStatus, refusal: KubeError): WorldStatus => ({
  ...status,
  message: `the API server refused the server's pod: ${refusal.message}`.slice(0, 4096),
})

/** Writes the status unless the world has it already; guarded by the version that was read, so nothing stale lands. */
const writeStatus = async (
  deps: WorldDeps,
  world: World,
  status: WorldStatus,
  signal: AbortSignal,
): Promise<boolean> => {
  if (isDeepStrictEqual(ownPart(world.status), ownPart(status))) return false
  const { name, namespace, uid, resourceVersion } = world.metadata
  const written = await unless(
    isNotFound,
    deps.worlds.client.applyStatus(
      {
        apiVersion: groupVersion,
        kind: worldResource.kind,
        metadata: {
          name,
          ...(namespace === undefined ? {} : { namespace }),
          ...(uid === undefined ? {} : { uid }),
          ...(resourceVersion === undefined ? {} : { resourceVersion }),
        },
        status,
      },
      { fieldManager: fieldManagers.operator, force: true, signal },
    ),
  )
  if (written) await deps.worlds.cache.reached(written.metadata.resourceVersion ?? '', { timeoutMs: ownWriteTimeoutMs })
  return true
}

/** The status without the condition that the API writes, in an order that does not depend on the writer. */
const ownPart = (status: WorldStatus | undefined): WorldStatus => {
  const own = (status?.conditions ?? []).filter((condition) => condition.type !== 'Synced')
  return { ...status, conditions: own.sort((a, b) => a.type.localeCompare(b.type)) }
}
