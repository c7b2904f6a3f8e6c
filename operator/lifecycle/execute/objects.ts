import type { Client } from '#shared/kube/client.ts'
import { isAlreadyExists, isNotFound } from '#shared/kube/errors.ts'
import { controllerOf, type KubeObject } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import { ownWriteTimeoutMs, type Source } from './status.ts'

/** The result of a creation: `exists` if the owner's object is there already, `taken` if a stranger's is. */
export type Creation = { readonly kind: 'created' | 'exists' } | { readonly kind: 'taken'; readonly error: unknown }

/**
 * Creates an object of that owner and waits until the cache shows it. If the name is in use, the API server is asked
 * who owns it, since the cache may be behind.
 */
export const createOwned = async <T extends KubeObject>(
  { client, cache }: Source<T>,
  owner: KubeObject,
  object: KubeObject & { spec: object },
  signal: AbortSignal,
): Promise<Creation> => {
  try {
    const created = await client.create(object, { signal })
    await cache.waitForVersion(created.metadata.resourceVersion ?? '', { timeoutMs: ownWriteTimeoutMs })
    return { kind: 'created' }
  } catch (error) {
    if (!isAlreadyExists(error)) throw error
    const { name, namespace } = object.metadata
    const present = await ignoreError(isNotFound, client.get(withDefined({ name, namespace }), { signal }))
    // It was deleted between the two calls. No watch event will follow for a stranger, so the reconcile is retried.
    if (present === undefined) throw error
    return controllerOf(present)?.uid === owner.metadata.uid ? { kind: 'exists' } : { kind: 'taken', error }
  }
}

/** Deletes that very object, by uid. An object that is gone already is no error. */
export const deleteExact = async <T extends KubeObject>(
  { client }: Source<T>,
  { metadata: { name, namespace, uid } }: T,
  options: NonNullable<Parameters<Client<T>['delete']>[1]>,
): Promise<void> => {
  await ignoreError(
    isNotFound,
    client.delete(withDefined({ name, namespace }), { ...options, ...withDefined({ uid }) }),
  )
}

/** Returns the result of a call, or undefined if it fails with the expected error. */
export const ignoreError = async <T>(
  isExpected: (error: unknown) => boolean,
  call: Promise<T>,
): Promise<T | undefined> => {
  try {
    return await call
  } catch (error) {
    if (isExpected(error)) return undefined
    throw error
  }
}
