import type { V1Condition, V1ObjectMeta, V1OwnerReference } from '@kubernetes/client-node'

/** A generated type as it is in JSON: the API server sends text (RFC 3339) where the generated classes have a Date. */
export type Json<T> = T extends Date ? string : T extends object ? { [K in keyof T]: Json<T[K]> } : T

/** A reference from a dependent to its owner, which the garbage collector follows (meta/v1 OwnerReference). */
export type OwnerReference = V1OwnerReference

/** The metadata of an object (meta/v1 ObjectMeta). The kit addresses objects by name, so it never uses `generateName`. */
export type ObjectMeta = Json<V1ObjectMeta> & { name: string }

/** An object of the API. Fields without a type, also unknown ones, are kept as the API server sent them. */
export type KubeObject = { apiVersion: string; kind: string; metadata: ObjectMeta }

/** An object of a generated type, such as `KubeObjectOf<V1Pod>`, as the API server sends it. */
export type KubeObjectOf<T> = KubeObject & Json<Omit<T, keyof KubeObject>>

/** The name of an object within its resource, and its namespace unless the resource is cluster-scoped. */
export type ObjectRef = { namespace?: string | undefined; name: string }

/** An entry of `status.conditions` (meta/v1 Condition). */
export type Condition = Json<V1Condition> & { status: 'True' | 'False' | 'Unknown' }

/** Returns the key of an object in stores and queues: `namespace/name`, or the name alone if it has no namespace. */
export const objectKey = (object: ObjectRef | { metadata: ObjectMeta }): string => {
  const ref = 'metadata' in object ? object.metadata : object
  return ref.namespace === undefined ? ref.name : `${ref.namespace}/${ref.name}`
}

/** Parses a key of `objectKey`. */
export const parseKey = (key: string): ObjectRef => {
  const slash = key.indexOf('/')
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}

/**
 * Returns a reference that makes `owner` the controller of a dependent: deleting the owner deletes the dependent, and a
 * foreground deletion waits for it. Throws a `TypeError` if the owner has no uid, since only the API server assigns one.
 */
export const ownerReference = (owner: KubeObject): OwnerReference => {
  const { name, uid } = owner.metadata
  if (uid === undefined) {
    throw new TypeError(`${owner.kind} ${objectKey(owner)} has no uid. Create it before it owns other objects.`)
  }
  return { apiVersion: owner.apiVersion, kind: owner.kind, name, uid, controller: true, blockOwnerDeletion: true }
}

/** Returns the owner that manages the object, if any. The API server allows at most one. */
export const controllerOf = (object: { metadata: ObjectMeta }): OwnerReference | undefined =>
  object.metadata.ownerReferences?.find((reference) => reference.controller === true)
