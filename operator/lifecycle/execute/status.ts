import { isDeepStrictEqual } from 'node:util'
import type { Client } from '#shared/kube/client.ts'
import { isNotFound } from '#shared/kube/errors.ts'
import type { EventRecorder } from '#shared/kube/events.ts'
import type { Condition, KubeObject } from '#shared/kube/objects.ts'
import type { PacedKeys } from '#shared/kube/pace.ts'
import type { Reflector } from '#shared/kube/reflector.ts'
import type { Log } from '#shared/log.ts'
import { withDefined } from '#shared/optional.ts'
import { fieldManagers, groupVersion } from '#shared/resources/group.ts'
import type { Tracing } from '#shared/tracing/tracing.ts'
import { ownConditions } from '../conditions.ts'
import type { RunClock } from '../runClock.ts'

/** The client that writes a kind of resource and the cache that it is read from. */
export type Source<T extends KubeObject> = { readonly client: Client<T>; readonly cache: Reflector<T> }

/** The dependencies of the reconciles of both kinds. */
export type ReconcileDeps = {
  readonly namespaces: Source<KubeObject>
  readonly runClock: RunClock
  /** The rate of status writes that only acknowledge a spec. */
  readonly acknowledgements: PacedKeys
  readonly events: Pick<EventRecorder, 'record'>
  readonly tracing: Tracing
  readonly log: Log
}

/** The time limit for the cache to show a write of a reconcile. A write from an older cache would get a conflict. */
const ownWriteTimeoutMs = 5_000

/**
 * Returns the version that a write led to, without the object. An object that is held while the cache catches up moves to V8's old
 * generation, where its memory is freed later.
 */
export const versionOf = async (write: Promise<KubeObject>): Promise<string | undefined> =>
  (await write).metadata.resourceVersion

/** Waits until the cache shows the version that a write led to. Undefined stands for no version. */
export const untilShown = async <T>(cache: Reflector<T>, write: Promise<string | undefined>): Promise<void> => {
  const version = await write
  if (version !== undefined) await cache.waitForVersion(version, { timeoutMs: ownWriteTimeoutMs })
}

type WithConditions = { conditions?: Condition[] | undefined; worldId?: string | undefined }

/** Returns the operator's part of a status, with its conditions sorted by type. */
export const ownStatus = <Status extends WithConditions>(status: Status | undefined): object => {
  const { worldId: _, ...own }: WithConditions = status ?? {}
  return { ...own, conditions: ownConditions(status?.conditions).sort((a, b) => (a.type < b.type ? -1 : 1)) }
}

/**
 * Writes the status unless the resource has it already, and waits until the cache shows it. The write names the version
 * that was read, so an outdated status is refused. Returns true if it wrote something.
 */
export const writeStatus = async <Status extends WithConditions, T extends KubeObject & { status?: Status }>(
  { client, cache }: Source<T>,
  { metadata, status: before }: T,
  status: Status,
  signal: AbortSignal,
): Promise<boolean> => {
  if (isDeepStrictEqual(ownStatus(before), ownStatus(status))) return false
  const { name, namespace, uid, resourceVersion } = metadata
  // The API owns worldId.
  const { worldId: _, ...own } = status
  const object = {
    apiVersion: groupVersion,
    kind: client.resource.kind,
    metadata: withDefined({ name, namespace, uid, resourceVersion }),
    status: own,
  }
  try {
    const written = client.applyStatus(object, { fieldManager: fieldManagers.operator, force: true, signal })
    await untilShown(cache, versionOf(written))
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
  return true
}
