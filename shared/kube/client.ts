import { withDefined } from '#shared/optional.ts'
import { listAll } from './list.ts'
import type { KubeObject, ObjectMeta, ObjectRef } from './objects.ts'
import type { Request, Transport } from './transport.ts'

/** The identity of a kind in the API. The group of core kinds is ''. */
export type Resource = { group: string; version: string; plural: string; kind: string }

/** Options of every call. */
export type CallOptions = { signal?: AbortSignal | undefined; timeoutMs?: number }

/** Options of server-side apply. `force` takes over fields that others own, as controllers should. */
export type ApplyOptions = CallOptions & { fieldManager: string; force?: boolean }

/** Options of a deletion. `uid` and `resourceVersion` are preconditions. */
export type DeleteOptions = CallOptions & {
  uid?: string
  resourceVersion?: string
  gracePeriodSeconds?: number
}

/** The selection of objects: one namespace or all, filtered by label and field selectors. */
export type Selection = { namespace?: string; labelSelector?: string; fieldSelector?: string }

/** Options of a list. `keep` returns the part of each object to keep, by default all of it. */
export type ListOptions<T> = CallOptions & Selection & { keep?: (object: T) => T }

/** Options of a watch from a version on. The server ends the watch after `timeoutSeconds`. */
export type WatchOptions = Selection & {
  resourceVersion: string
  timeoutSeconds: number
  signal: AbortSignal
  idleTimeoutMs: number
}

/** An object to send to the server. */
export type ObjectInput = {
  apiVersion: string
  kind: string
  metadata: ObjectRef & Partial<ObjectMeta>
  [field: string]: unknown
}

/** Options of a read. `managedFields` keeps the record of the managers of each field. */
export type GetOptions = CallOptions & { managedFields?: boolean }

/** A client of one kind. Objects are raw JSON without `managedFields`. Every call may throw a `KubeError`. */
export type Client<T extends KubeObject> = {
  readonly resource: Resource
  get(ref: ObjectRef, options?: GetOptions): Promise<T>
  /** Lists the newest objects, over any number of pages. */
  list(options?: ListOptions<T>): Promise<{ items: T[]; resourceVersion: string }>
  /** Creates an object. With `dryRun` the server only checks it. */
  create(object: ObjectInput, options?: CallOptions & { fieldManager?: string; dryRun?: true }): Promise<T>
  /** Replaces the whole object. If a resourceVersion is sent, it must be the current one. */
  replace(object: ObjectInput, options?: CallOptions): Promise<T>
  /** Applies a whole intent (server-side apply). Fields that this manager owned and leaves out are removed. */
  apply(object: ObjectInput, options: ApplyOptions): Promise<T>
  applyStatus(object: ObjectInput, options: ApplyOptions): Promise<T>
  /** Sends a JSON Patch if `patch` is a list of operations, else a JSON merge patch. `strict` refuses unknown fields. */
  patch(ref: ObjectRef, patch: object, options?: CallOptions & { fieldManager?: string; strict?: true }): Promise<T>
  /**
   * Deletes an object, or marks it for deletion if it has a grace period or finalizers. Returns the resourceVersion of that, if the
   * response has one. Throws if the object is absent (`isNotFound`) or a precondition fails (`isConflict`).
   */
  delete(ref: ObjectRef, options?: DeleteOptions): Promise<string | undefined>
  /** Yields the parsed lines of a watch, including bookmarks. */
  watch(options: WatchOptions): AsyncIterable<unknown>
}

/** Creates a client of one kind over a transport. */
export const createClient = <T extends KubeObject>(transport: Transport, resource: Resource): Client<T> => {
  const paths = createPaths(resource)
  const call = async (request: Request): Promise<T> => withoutManagedFields(await transport.request<T>(request))
  const apply = (
    object: ObjectInput,
    { fieldManager, force, ...options }: ApplyOptions,
    subresource = '',
  ): Promise<T> =>
    call({
      method: 'PATCH',
      path: `${paths.object(object.metadata)}${subresource}`,
      query: { fieldManager, force: force ? 'true' : undefined },
      contentType: 'application/apply-patch+yaml',
      body: object,
      ...callOptions(options),
    })
  return {
    resource,
    get: async (ref, { managedFields = false, ...options } = {}) => {
      const object = await transport.request<T>({ method: 'GET', path: paths.object(ref), ...callOptions(options) })
      return managedFields ? object : withoutManagedFields(object)
    },
    list: ({ namespace, labelSelector, fieldSelector, signal, keep = (object: T) => object } = {}) =>
      listAll<T>(transport, {
        path: paths.collection(namespace),
        query: { labelSelector, fieldSelector },
        signal,
        // The items of a list have no apiVersion and kind.
        keep: (item, apiVersion) => keep(withoutManagedFields({ ...item, apiVersion, kind: resource.kind })),
      }),
    create: (object, { fieldManager, dryRun, ...options } = {}) =>
      call({
        method: 'POST',
        path: paths.collection(object.metadata.namespace),
        query: { fieldManager, dryRun: dryRun && 'All' },
        body: object,
        ...callOptions(options),
      }),
    replace: (object, options = {}) =>
      call({ method: 'PUT', path: paths.object(object.metadata), body: object, ...callOptions(options) }),
    apply: (object, options) => apply(object, options),
    applyStatus: (object, options) => apply(object, options, '/status'),
    patch: (ref, patch, { fieldManager, strict, ...options } = {}) =>
      call({
        method: 'PATCH',
        path: paths.object(ref),
        query: { fieldManager, fieldValidation: strict && 'Strict' },
        contentType: Array.isArray(patch) ? 'application/json-patch+json' : 'application/merge-patch+json',
        body: patch,
        ...callOptions(options),
      }),
    delete: async (ref, { uid, resourceVersion, gracePeriodSeconds, ...options } = {}) => {
      const preconditions = { uid, resourceVersion }
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions, gracePeriodSeconds }
      const request = { method: 'DELETE', path: paths.object(ref), body, ...callOptions(options) } as const
      const answer = await transport.request<{ metadata?: ObjectMeta }>(request)
      return answer.metadata?.resourceVersion
    },
    watch: ({ namespace, labelSelector, fieldSelector, resourceVersion, timeoutSeconds, signal, idleTimeoutMs }) =>
      transport.watch({
        path: paths.collection(namespace),
        query: {
          watch: 'true',
          allowWatchBookmarks: 'true',
          labelSelector,
          fieldSelector,
          resourceVersion,
          timeoutSeconds: String(timeoutSeconds),
        },
        signal,
        idleTimeoutMs,
      }),
  }
}

const callOptions = ({ signal, timeoutMs }: CallOptions): CallOptions => ({
  signal,
  ...withDefined({ timeoutMs }),
})

const createPaths = ({ group, version, plural }: Resource) => {
  const base = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  const collection = (namespace: string | undefined): string =>
    `${base}${namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`}/${plural}`
  return {
    collection,
    object: ({ namespace, name }: ObjectRef): string => `${collection(namespace)}/${encodeURIComponent(name)}`,
  }
}

/** Removes `managedFields`, which are half of an object and not used here. */
export const withoutManagedFields = <T extends KubeObject>(object: T): T => {
  if ('managedFields' in (object.metadata ?? {})) Reflect.deleteProperty(object.metadata, 'managedFields')
  return object
}
