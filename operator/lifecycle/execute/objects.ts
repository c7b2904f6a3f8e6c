import type { Client } from '#shared/kube/client.ts'
import { isAlreadyExists, isNotFound, KubeError } from '#shared/kube/errors.ts'
import { controllerOf, type KubeObject, type ObjectRef, objectKey } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import { type Source, untilShown, versionOf } from './status.ts'

/** The result of a creation: `exists` if the owner's object is there already, `taken` if a stranger's is. */
export type Creation<T> =
  | { readonly kind: 'created' }
  | { readonly kind: 'exists'; readonly object: T }
  | { readonly kind: 'taken'; readonly error: unknown }

/**
 * Creates an object of that owner and waits until the cache shows it. If the name is in use, reads the owner of the existing
 * object from the API server, because the cache may be outdated.
 */
export const createOwned = async <T extends KubeObject>(
  { client, cache }: Source<T>,
  owner: KubeObject,
  object: KubeObject & { spec: object },
  signal: AbortSignal,
): Promise<Creation<T>> => {
  try {
    await untilShown(cache, versionOf(client.create(object, { signal })))
    return { kind: 'created' }
  } catch (error) {
    if (!isAlreadyExists(error)) throw error
    const { name, namespace } = object.metadata
    const present = await readIfPresent(client, withDefined({ name, namespace }), signal)
    // It was deleted between the two calls. No watch event will follow for a stranger, so the reconcile is retried.
    if (present === undefined) throw error
    return controllerOf(present)?.uid === owner.metadata.uid
      ? { kind: 'exists', object: present }
      : { kind: 'taken', error }
  }
}

/**
 * Deletes the object with this uid and waits until the cache shows it, so that no later reconcile repeats the deletion. A missing
 * object is not an error.
 */
export const deleteExact = async <T extends KubeObject>(
  { client, cache }: Source<T>,
  { metadata: { name, namespace, uid } }: T,
  options: NonNullable<Parameters<Client<T>['delete']>[1]>,
): Promise<void> => {
  const deletion = client.delete(withDefined({ name, namespace }), { ...options, ...withDefined({ uid }) })
  await untilShown(cache, ignoreError(isNotFound, deletion))
}

/**
 * Sends a JSON merge patch to the object with this uid, and waits until the cache shows it. An object that no longer exists, or
 * that another one has replaced, is an error.
 */
export const patchExact = async <T extends KubeObject>(
  { client, cache }: Source<T>,
  { metadata: { name, namespace, uid } }: T,
  patch: { readonly metadata?: object; readonly spec?: object },
  signal: AbortSignal,
): Promise<void> => {
  const exact = { ...patch, metadata: { ...patch.metadata, uid } }
  await untilShown(cache, versionOf(client.patch(withDefined({ name, namespace }), exact, { signal })))
}

/** Reads an object from the API server; undefined if there is none. */
export const readIfPresent = <T extends KubeObject>(
  client: Pick<Client<T>, 'get' | 'resource'>,
  ref: ObjectRef,
  signal: AbortSignal,
): Promise<T | undefined> => ignoreError(isNotFound, client.get(ref, { signal }))

/**
 * Throws a conflict unless the API server and the cache have the same version of the object, or both have none. Nothing may be
 * deleted because of an outdated cache.
 */
export const requireCurrent = async <T extends KubeObject>(
  client: Pick<Client<T>, 'get' | 'resource'>,
  ref: ObjectRef,
  cached: T | undefined,
  signal: AbortSignal,
): Promise<void> => {
  const live = await readIfPresent(client, ref, signal)
  if (live?.metadata.resourceVersion === cached?.metadata.resourceVersion) return
  const message = `${client.resource.kind} ${objectKey(ref)} has another version than the cache.`
  throw new KubeError({ status: 409, reason: 'Conflict', message })
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
