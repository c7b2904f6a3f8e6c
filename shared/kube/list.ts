import { isExpired, KubeError } from './errors.ts'
import type { KubeObject } from './objects.ts'
import type { Transport } from './transport.ts'

// Pages of 25 to 200 objects, or a page that is requested while the previous one is processed, do not make restarts faster.
const maxPageObjects = 500
/** A larger page is read again with fewer objects. One object is at most 1.5 MiB in etcd. */
const maxPageBytes = 32 * 1024 * 1024
const maxPages = 10_000
/** Pages are snapshots, which the server forgets after some minutes. */
const maxSnapshots = 3

type Query = Record<string, string | undefined>
type Page<T> = { apiVersion: string; items?: T[]; metadata: { resourceVersion: string; continue?: string } }

/** A list to read: its path, its selectors, and the part of each object to keep. */
export type ListRequest<T> = {
  readonly path: string
  readonly query: Query
  readonly signal: AbortSignal | undefined
  readonly keep: (item: T, apiVersion: string) => T
}

/**
 * Reads the newest list in pages, so that no response is over 32 MiB, whatever the size of the objects. It sends no
 * resourceVersion, because the server ignores the limit of a list from "0" and reads any other version as "exactly". If
 * the pages expire before the end, the list starts again, at most twice.
 */
export const listAll = async <T extends KubeObject>(
  transport: Transport,
  { path, query, signal, keep }: ListRequest<T>,
): Promise<{ items: T[]; resourceVersion: string }> => {
  for (let snapshot = 1; ; snapshot += 1) {
    try {
      const items: T[] = []
      let resourceVersion = ''
      for await (const page of pages<T>(transport, { path, query, signal })) {
        for (const item of page.items ?? []) items.push(keep(item, page.apiVersion))
        resourceVersion = page.metadata.resourceVersion
      }
      return { items, resourceVersion }
    } catch (error) {
      if (!isExpired(error) || snapshot >= maxSnapshots) throw error
    }
  }
}

async function* pages<T>(transport: Transport, request: Omit<ListRequest<T>, 'keep'>): AsyncGenerator<Page<T>> {
  const { path, query, signal } = request
  let limit = maxPageObjects
  let position: string | undefined
  for (let count = 0; count < maxPages; count += 1) {
    const page = await transport
      .request<Page<T>>({
        method: 'GET',
        path,
        query: { ...query, limit: String(limit), continue: position },
        maxAnswerBytes: maxPageBytes,
        signal,
      })
      .catch((error: unknown) => {
        if (limit === 1 || !isTooLarge(error)) throw error
      })
    limit = page === undefined ? Math.ceil(limit / 4) : Math.min(limit * 2, maxPageObjects)
    if (page === undefined) continue
    yield page
    position = page.metadata.continue || undefined
    if (position === undefined) return
  }
  throw new Error(`${path}: the list has more than ${maxPages} pages`)
}

const isTooLarge = (error: unknown): boolean => error instanceof KubeError && error.reason === 'TooLarge'
