/** A reference from a dependent to its owner, which the garbage collector follows (meta/v1 OwnerReference). */
export type OwnerReference = {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller?: boolean
  blockOwnerDeletion?: boolean
}

/** The part of meta/v1 ObjectMeta that controllers use; times are RFC 3339. */
export type ObjectMeta = {
  name: string
  namespace?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  creationTimestamp?: string
  deletionTimestamp?: string
  deletionGracePeriodSeconds?: number
  labels?: Record<string, string>
  annotations?: Record<string, string>
  ownerReferences?: OwnerReference[]
  finalizers?: string[]
}

/** Any object of the API. What it holds beside this is kept as it came, unknown fields too. */
export type KubeObject = { apiVersion: string; kind: string; metadata: ObjectMeta }

/** What names an object within its resource; without a namespace for a cluster-scoped one. */
export type ObjectRef = { namespace?: string | undefined; name: string }

/** One entry of `status.conditions` (meta/v1 Condition). */
export type Condition = {
  type: string
  status: 'True' | 'False' | 'Unknown'
  reason: string
  message: string
  lastTransitionTime: string
  observedGeneration?: number
}

/** `namespace/name`, or the name alone where there is no namespace: the key of stores and queues. */
export const objectKey = (object: ObjectRef | { metadata: ObjectMeta }): string => {
  const ref = 'metadata' in object ? object.metadata : object
  return ref.namespace === undefined ? ref.name : `${ref.namespace}/${ref.name}`
}

/** What a key of `objectKey` names. */
export const parseKey = (key: string): ObjectRef => {
  const slash = key.indexOf('/')
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}

/**
 * Makes `owner` the controller of what carries the reference: deleting the owner deletes the dependent, and in the
 * foreground waits for it. The owner must come from the API server (it needs its uid), else a `TypeError` is thrown.
 */
export const ownerReference = (owner: KubeObject): OwnerReference => {
  const { name, uid } = owner.metadata
  if (uid === undefined)
    throw new TypeError(`${owner.kind} ${objectKey(owner)} has no uid yet: own it once it is created`)
  return { apiVersion: owner.apiVersion, kind: owner.kind, name, uid, controller: true, blockOwnerDeletion: true }
}

/** The one owner that manages the object, if any (the API server allows at most one). */
export const controllerOf = (object: { metadata: ObjectMeta }): OwnerReference | undefined =>
  object.metadata.ownerReferences?.find((reference) => reference.controller === true)
