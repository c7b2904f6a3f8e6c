import { isDeepStrictEqual } from 'node:util'
import type { Client } from '#shared/kube/client.ts'
import { isNotFound } from '#shared/kube/errors.ts'
import type { Condition, KubeObject } from '#shared/kube/objects.ts'
import type { Reflector } from '#shared/kube/reflector.ts'
import { fieldManagers, groupVersion } from '#shared/resources/group.ts'

/** One kind of resource: how it is written, and what is known of it. */
export type Source<T extends KubeObject> = { readonly client: Client<T>; readonly cache: Reflector<T> }

/** How long a reconcile waits for the caches to show what it wrote; past that, a conflict would tell it. */
export const ownWriteTimeoutMs = 5_000

type WithConditions = { conditions?: Condition[] | undefined }

/** The status without the condition that the API writes, in an order that does not depend on the writer. */
export const ownPart = <Status extends WithConditions>(status: Status | undefined): object => {
  const own = (status?.conditions ?? []).filter((condition) => condition.type !== 'Synced')
  return { ...status, conditions: own.sort((a, b) => a.type.localeCompare(b.type)) }
}

/**
 * Writes the status unless the resource has it already, and waits until the cache shows it; guarded by the version that
 * was read, so nothing stale lands. Returns whether there was something to write.
 */
export const writeStatus = async <Status extends WithConditions, T extends KubeObject & { status?: Status }>(
  { client, cache }: Source<T>,
  { metadata, status: before }: T,
  status: Status,
  signal: AbortSignal,
): Promise<boolean> => {
  if (isDeepStrictEqual(ownPart(before), ownPart(status))) return false
  const { name, namespace, uid, resourceVersion } = metadata
  const object = {
    apiVersion: groupVersion,
    kind: client.resource.kind,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    status,
  }
  try {
    const written = await client.applyStatus(object, { fieldManager: fieldManagers.operator, force: true, signal })
    await cache.reached(written.metadata.resourceVersion ?? '', { timeoutMs: ownWriteTimeoutMs })
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
  return true
}
