import type { Pod, PodRole } from '#operator/pods/pod.ts'
import { podDeletionStep, type StopSettings } from '#operator/pods/termination.ts'
import type { Client } from '#shared/kube/client.ts'
import { KubeError } from '#shared/kube/errors.ts'
import { controllerOf, type KubeObject, type ObjectRef, objectKey } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import { groupVersion } from '#shared/resources/group.ts'
import type { DeletedUids } from './deletedUids.ts'
import { deleteExact, readIfPresent } from './objects.ts'
import type { Source } from './status.ts'

/**
 * The owner whose pods are examined: its client, its name, and its uid in the cache if it is there. `deletedUids` are those of
 * owners that the cache has seen deleted.
 */
type Owner = {
  readonly client: Pick<Client<KubeObject>, 'get' | 'resource'>
  readonly ref: ObjectRef
  readonly uid: string | undefined
  readonly deletedUids?: DeletedUids
}

/** Returns the pods whose owner no longer exists (same name, different uid) and that are not being deleted. */
export const selectOwnerlessPods = ({ client, ref, uid }: Owner, pods: readonly Pod[]): Pod[] =>
  pods.filter((pod) => {
    const controller = controllerOf(pod)
    const isOwners =
      controller?.apiVersion === groupVersion &&
      controller.kind === client.resource.kind &&
      controller.name === ref.name
    return isOwners && controller.uid !== uid && pod.metadata.deletionTimestamp === undefined
  })

/**
 * Throws a conflict if the API server has the owner of one of these pods, because the cache is outdated then. A uid is never
 * used again, so the pods of an owner that no longer exists can be deleted. Reads nothing if the cache has seen the deletion.
 */
export const requireOwnerGone = async (
  { client, ref, deletedUids }: Owner,
  pods: readonly Pod[],
  signal: AbortSignal,
): Promise<void> => {
  if (pods.every((pod) => deletedUids?.has(controllerOf(pod)?.uid ?? '') === true)) return
  const live = await readIfPresent(client, ref, signal)
  if (live === undefined || pods.every((pod) => controllerOf(pod)?.uid !== live.metadata.uid)) return
  const message = `${client.resource.kind} ${objectKey(ref)} exists, and the cache does not show it.`
  throw new KubeError({ status: 409, reason: 'Conflict', message })
}

/**
 * Deletes a pod whose owner no longer exists. The garbage collector would delete it too, but much later if many owners are
 * deleted at once. The preconditions ensure that the pod is unchanged since the cache read it, so it still has that owner.
 */
export const deleteOwnerlessPod = async (
  pods: Source<Pod>,
  pod: Pod,
  { role, settings, signal }: { role: PodRole; settings: StopSettings; signal: AbortSignal },
): Promise<void> => {
  // Deleting the collection of 25 pods in one request is not faster.
  const { resourceVersion } = pod.metadata
  const { graceSeconds } = podDeletionStep(pod, role, settings)
  await deleteExact(pods, pod, { signal, ...withDefined({ resourceVersion, gracePeriodSeconds: graceSeconds }) })
}
