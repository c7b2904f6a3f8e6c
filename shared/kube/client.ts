import type { KubeObject, ObjectRef } from './objects.ts'
import type { Transport } from './transport.ts'

/** How a kind is reached; the group of core kinds is ''. */
export type Resource = { group: string; version: string; plural: string; kind: string }

/** Who writes by server-side apply; `force` takes over fields that others own. */
export type ApplyOptions = { fieldManager: string; force?: boolean }

/** What an object must be for it to be deleted, and how. */
export type DeleteOptions = { uid?: string; resourceVersion?: string; gracePeriodSeconds?: number }

type Sent = { apiVersion: string; kind: string; metadata: ObjectRef; [field: string]: unknown }

/** One kind of object on one API server. Objects are raw JSON without `managedFields`. Every call may throw a `KubeError`. */
export type Client<T extends KubeObject> = {
  readonly resource: Resource
  get(ref: ObjectRef): Promise<T>
  /** All objects, read in pages; from the server's cache where `resourceVersion` is "0". */
  list(options?: {
    namespace?: string
    labelSelector?: string
    resourceVersion?: string
  }): Promise<{ items: T[]; resourceVersion: string }>
  create(object: Sent): Promise<T>
  /** Server-side apply of a whole intent: what this manager owned and leaves out is removed. */
  apply(object: Sent, options: ApplyOptions): Promise<T>
  applyStatus(object: Sent, options: ApplyOptions): Promise<T>
  /** A JSON merge patch. */
  patch(ref: ObjectRef, patch: object): Promise<T>
  delete(ref: ObjectRef, options?: DeleteOptions): Promise<void>
  /** The parsed lines of a watch. */
  watch(options: {
    query: Record<string, string | undefined>
    signal: AbortSignal
    idleTimeoutMs: number
  }): AsyncIterable<unknown>
}

const pageSize = 500
const maxPages = 1_000

/** A client of one kind over a transport. */
export const createClient = <T extends KubeObject>(transport: Transport, resource: Resource): Client<T> => {
  const base = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`
  const collection = (namespace?: string): string =>
    `${base}${namespace ? `/namespaces/${encodeURIComponent(namespace)}` : ''}/${resource.plural}`
  const item = ({ namespace, name }: ObjectRef, subresource = ''): string =>
    `${collection(namespace)}/${encodeURIComponent(name)}${subresource}`

  const apply = async (object: Sent, { fieldManager, force }: ApplyOptions, subresource = ''): Promise<T> =>
    strip(
      await transport.request<T>({
        method: 'PATCH',
        path: item(object.metadata, subresource),
        query: { fieldManager, force: force ? 'true' : undefined },
        contentType: 'application/apply-patch+yaml',
        body: object,
      }),
    )

  return {
    resource,
    get: async (ref) => strip(await transport.request<T>({ method: 'GET', path: item(ref) })),
    list: async ({ namespace, labelSelector, resourceVersion } = {}) => {
      const items: T[] = []
      let next: string | undefined
      for (let page = 0; page < maxPages; page += 1) {
        const list: List<T> = await transport.request<List<T>>({
          method: 'GET',
          path: collection(namespace),
          query: {
            labelSelector,
            limit: String(pageSize),
            ...(next === undefined ? { resourceVersion } : { continue: next }),
          },
        })
        for (const each of list.items) {
          items.push(strip({ ...each, apiVersion: list.apiVersion, kind: resource.kind }))
        }
        next = list.metadata.continue
        if (!next) return { items, resourceVersion: list.metadata.resourceVersion }
      }
      throw new Error(`${resource.plural}: more than ${maxPages * pageSize} objects`)
    },
    create: async (object) =>
      strip(await transport.request<T>({ method: 'POST', path: collection(object.metadata.namespace), body: object })),
    apply: (object, options) => apply(object, options),
    applyStatus: (object, options) => apply(object, options, '/status'),
    patch: async (ref, patch) =>
      strip(
        await transport.request<T>({
          method: 'PATCH',
          path: item(ref),
          contentType: 'application/merge-patch+json',
          body: patch,
        }),
      ),
    delete: async (ref, { uid, resourceVersion, gracePeriodSeconds } = {}) => {
      const preconditions = { ...(uid ? { uid } : {}), ...(resourceVersion ? { resourceVersion } : {}) }
      await transport.request({
        method: 'DELETE',
        path: item(ref),
        body: {
          apiVersion: 'v1',
          kind: 'DeleteOptions',
          preconditions,
          ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
        },
      })
    },
    watch: ({ query, signal, idleTimeoutMs }) =>
      transport.watch({ path: collection(), query: { ...query, watch: 'true' }, signal, idleTimeoutMs }),
  }
}

type List<T> = { apiVersion: string; items: T[]; metadata: { resourceVersion: string; continue?: string } }

/** managedFields are half of an object and nobody reads them here. */
const strip = <T extends KubeObject>(object: T): T => {
  if (object.metadata !== undefined) delete (object.metadata as { managedFields?: unknown }).managedFields
  return object
}
