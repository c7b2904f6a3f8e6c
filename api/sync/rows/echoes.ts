import { isDeepStrictEqual } from 'node:util'
import { type Clock, sleep } from '#shared/clock.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import type { Kind } from './synced.ts'

/** The number of results that are kept. The oldest are dropped first; pull then compares their resources with the rows. */
const maxResults = 10_000
/** The longest wait for a push. Edits and deletions of a resource must not wait for one that hangs. */
const maxWaitMs = 100

/** A resource of either kind. */
type Resource = KubeObject & { readonly spec: object }

/** The kind of a resource, and its key `namespace/name`. */
type Name = { readonly kind: Kind; readonly key: string }

/** The results of the pushes of this process that pull need not compare with their rows. */
export type Echoes = {
  /** Runs a push of a resource and records the echo that it returns. By then the row must have the result on record. */
  record<T extends { readonly echo?: KubeObject | undefined }>(name: Name, push: () => Promise<T>): Promise<T>
  /**
   * Reports whether a live resource is exactly what the last push of this process wrote. Waits briefly for a push in progress,
   * because its watch event may come first.
   */
  has(name: Name, live: KubeObject): Promise<boolean>
  /**
   * Records the start or the completion of a pull. Until completion, `has` returns false, because the pull may still have to write
   * to the resource.
   */
  pulled(name: Name, isComplete: boolean): void
  /** Forgets everything. A term of pull begins with it, because the pulls of another replica may have failed. */
  clear(): void
}

/** Creates the record of results. The version identifies the content, so pull may skip an event with the version of an echo. */
export const createEchoes = (clock: Clock): Echoes => {
  const pending = new Map<string, Promise<unknown>>()
  const versions = new Map<string, string>()
  const incomplete = new Set<string>()
  const waitFor = async (ended: Promise<unknown>): Promise<void> => {
    const stop = new AbortController()
    await Promise.race([ended, sleep(clock, maxWaitMs, stop.signal)])
    stop.abort()
  }
  const remember = (key: string, version: string): void => {
    versions.delete(key)
    versions.set(key, version)
    const [oldest] = versions.keys()
    if (versions.size > maxResults && oldest !== undefined) versions.delete(oldest)
  }
  return {
    record: async (name, push) => {
      const key = keyOf(name)
      const pushing = push().then((result) => {
        if (result.echo !== undefined) remember(key, versionOf(result.echo))
        return result
      })
      const ended = pushing.then(
        () => undefined,
        () => undefined,
      )
      pending.set(key, ended)
      try {
        return await pushing
      } finally {
        if (pending.get(key) === ended) pending.delete(key)
      }
    },
    has: async (name, live) => {
      if (isDeleted(live)) return false
      const key = keyOf(name)
      const pushing = pending.get(key)
      if (pushing !== undefined) await waitFor(pushing)
      return !incomplete.has(key) && versions.get(key) === versionOf(live)
    },
    pulled: (name, isComplete) => {
      if (isComplete) incomplete.delete(keyOf(name))
      else incomplete.add(keyOf(name))
    },
    clear: () => {
      versions.clear()
      incomplete.clear()
    },
  }
}

/**
 * Returns the result of an apply if it is an echo, or undefined. An echo has exactly the spec of its row and no deletion.
 * `isStatusIgnored` says that pull would read nothing from its status.
 */
export const echoOf = <T extends Resource>(applied: T, desired: object, isStatusIgnored: boolean): T | undefined =>
  isStatusIgnored && !isDeleted(applied) && isDeepStrictEqual(applied.spec, desired) ? applied : undefined

const keyOf = ({ kind, key }: Name): string => `${kind} ${key}`

const versionOf = ({ metadata }: KubeObject): string => `${metadata.uid} ${metadata.resourceVersion}`

const isDeleted = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp !== undefined
