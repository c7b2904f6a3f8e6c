import type { Client, GetOptions, Resource } from '#shared/kube/client.ts'
import { isNotFound } from '#shared/kube/errors.ts'
import type { KubeObject, ObjectMeta, ObjectRef } from '#shared/kube/objects.ts'

/** Clients of the objects that contain a resource: it is deleted with its namespace or its definition. */
export type ContainerClients = {
  readonly namespaces: Client<KubeObject>
  readonly definitions: Client<KubeObject>
}

/** The cause of a resource's deletion: a request to delete it, or the loss of its namespace or definition, with the reason. */
export type DeletionCause = { readonly isIntended: true } | { readonly isIntended: false; readonly reason: string }

/**
 * Timestamps of deletion have whole seconds and come from several API servers. A resource was deleted on its own only if
 * more than this time passed before its container was deleted.
 */
const marginMs = 1_000

/** A namespace or a definition; undefined metadata means that it does not exist. */
type Container = { readonly title: string; readonly metadata: ObjectMeta | undefined }

/** Decides whether a resource was deleted by a request of its own, or with its namespace or definition. */
export const decideCause = (deletionTimestamp: string, containers: readonly Container[]): DeletionCause => {
  for (const { title, metadata } of containers) {
    if (metadata === undefined) return { isIntended: false, reason: `${title} is missing` }
    const end = metadata.deletionTimestamp
    if (end !== undefined && Date.parse(deletionTimestamp) >= Date.parse(end) - marginMs) {
      return { isIntended: false, reason: `${title} is terminating` }
    }
  }
  return { isIntended: true }
}

/**
 * Reads the cause of the deletion of a resource, and the resource with its managed fields. Returns undefined if the resource no longer exists, because the cause is then
 * unknown: its namespace and definition may have been recreated since. The resource is read last, so that both are the ones that
 * contain it.
 */
export const readCause = async <T extends KubeObject>(
  clients: ContainerClients,
  client: Client<T>,
  { metadata }: T,
): Promise<{ live: T; cause: DeletionCause } | undefined> => {
  const { namespace = '', name } = metadata
  const containers = await readContainers(clients, client.resource, namespace)
  const live = await readObject(client, { namespace, name }, { managedFields: true })
  if (live?.metadata.uid !== metadata.uid || live?.metadata.deletionTimestamp === undefined) return undefined
  return { live, cause: decideCause(live.metadata.deletionTimestamp, containers) }
}

/**
 * Returns the cause of the disappearance of a resource that had no finalizer. It counts as deleted itself if its namespace and
 * definition exist `now` and are not terminating.
 */
export const readCauseOfLoss = async (
  clients: ContainerClients,
  resource: Resource,
  { namespace, now }: { namespace: string; now: Date },
): Promise<DeletionCause> => decideCause(now.toISOString(), await readContainers(clients, resource, namespace))

const readContainers = async (
  clients: ContainerClients,
  { plural, group }: Resource,
  namespace: string,
): Promise<Container[]> => {
  const definition = `${plural}.${group}`
  return [
    { title: `The definition ${definition}`, metadata: await readMetadata(clients.definitions, { name: definition }) },
    { title: `The namespace ${namespace}`, metadata: await readMetadata(clients.namespaces, { name: namespace }) },
  ]
}

const readMetadata = async (client: Client<KubeObject>, ref: { name: string }): Promise<ObjectMeta | undefined> =>
  (await readObject(client, ref))?.metadata

/** Returns an object as the API server has it now, or undefined if it does not exist. */
export const readObject = async <T extends KubeObject>(
  client: Client<T>,
  ref: ObjectRef,
  options?: GetOptions,
): Promise<T | undefined> => {
  try {
    return await client.get({ namespace: ref.namespace, name: ref.name }, options)
  } catch (error) {
    if (!isNotFound(error)) throw error
    return undefined
  }
}
