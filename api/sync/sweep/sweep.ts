import { and, eq, sql } from 'drizzle-orm'
import { clusterContainers, heldSweeps } from '#api/domain/clusters/table.ts'
import { ClusterRefused } from '#api/sync/clusters/clusterGate.ts'
import { readObject } from '#api/sync/clusters/deletionCause.ts'
import { pullGone } from '#api/sync/pull/gone.ts'
import type { PullDeps } from '#api/sync/pull/pull.ts'
import { adapters } from '#api/sync/reconcile/adapters.ts'
import {
  type AppliedRow,
  appliedRows,
  forgetResource,
  isOutdated,
  isUnclaimed,
  type Kind,
  lockSynced,
  markRow,
  setHeldMessage,
} from '#api/sync/rows/synced.ts'
import { sleep } from '#shared/clock.ts'
import type { Resource } from '#shared/kube/client.ts'
import { type KubeObject, objectKey } from '#shared/kube/objects.ts'
import { namespaceOf } from '#shared/resources/group.ts'
import { decideSweep, type Missing } from './sweepLimit.ts'

/** The interval for comparing rows with the cache, in case an event of a deletion was missed. */
const sweepMs = 300_000
/** The interval for checking whether a held sweep was accepted. */
const heldMs = 2_000
/** The interval while a namespace or definition is gone. Its loss explains missing resources until the first sweep after its return. */
const unsettledMs = 15_000
/** The wait after a request, so that one sweep handles what vanished together. */
const settleMs = 300
const maxExamples = 20

/** The kind of a sweep, and its resources: in the cache, which may be outdated, and in the cluster. */
export type Swept = {
  readonly kind: Kind
  readonly resource: Resource
  readonly cached: () => readonly KubeObject[]
  readonly list: () => Promise<readonly KubeObject[]>
}

/** Repeats sweeps at an interval and on request. */
export const createSweeps = () => {
  let requested = new AbortController()
  return {
    /** Makes the next sweep start soon. */
    request: (): void => requested.abort(),
    /** Runs until the signal aborts. */
    run: async (deps: PullDeps, swept: Swept, signal: AbortSignal): Promise<void> => {
      let failure: string | undefined
      while (!signal.aborted) {
        requested = new AbortController()
        const waitMs = await trySweep(deps, swept).then(
          (nextMs) => {
            failure = undefined
            return nextMs
          },
          (error: Error) => {
            // An absent definition fails every sweep until it is back. It is logged once.
            if (error.message !== failure) deps.log.warn({ kind: swept.kind, err: error }, 'sweep: failed, retrying')
            failure = error.message
            return heldMs
          },
        )
        await sleep(deps.clock, waitMs, AbortSignal.any([signal, requested.signal]))
        if (requested.signal.aborted) await sleep(deps.clock, settleMs, signal)
      }
    },
  }
}

/** Sweeps, unless the cluster is not the accepted one, which the gate has logged. Returns the time until the next sweep. */
const trySweep = async (deps: PullDeps, swept: Swept): Promise<number> => {
  try {
    return await sweepMissing(deps, swept)
  } catch (error) {
    if (error instanceof ClusterRefused) return heldMs
    throw error
  }
}

/**
 * Compares the rows of a kind with the cluster. Resources that are missing are recreated, up to the limit of a sweep; others
 * are held until they are accepted. Returns the time until the next sweep in milliseconds.
 */
const sweepMissing = async (deps: PullDeps, swept: Swept): Promise<number> => {
  const { kind, resource } = swept
  const rows = await appliedRows(deps.db, kind, deps.cluster)
  const cached = byKey(swept.cached())
  await deps.findings.prune(kind, cached)
  const known = await readRecorded(deps, resource, rows)
  const [held] = await deps.db.select().from(heldSweeps).where(whereSweep(deps, kind))
  const gone = [...known].flatMap(([name, uid]) => (uid === goneUid ? name : []))
  const hasDoubt = rows.some((row) => {
    const object = cached.get(keyOf(deps, row))
    return object === undefined || isOutdated(row, object.metadata)
  })
  // Nothing has changed if what was gone is still gone and the cache has the resource of each row.
  if (gone.length > 0 && !hasDoubt && held === undefined && (await areGone(deps, resource, gone))) return unsettledMs
  const isSuspect = gone.length > 0 || hasDoubt
  if (isSuspect) await deps.gate.check({ fresh: true })
  // Containers are read before the resources: a new namespace means that all resources of the old one are gone.
  const containers = await readContainers(deps, resource, { rows, known, isSuspect })
  // The cache may be behind a push that the rows show. This list is not.
  const live = isSuspect ? byKey(await swept.list()) : cached
  // The version on record was in the cluster before the list, so only a restore can bring an earlier one back.
  if (rows.some((row) => isOutdated(row, live.get(keyOf(deps, row))?.metadata ?? {}))) return deps.gate.refuseRestored()
  const missing = rows
    .filter((row) => !live.has(keyOf(deps, row)))
    .map((row) => ({ ...row, isExplained: containers.isReplaced(row.organizationId) }))
  const decision = decideSweep(missing, { total: rows.length, accepted: held?.accepted ?? 0 })
  for (const row of decision.recreate) await recreate(deps, kind, row)
  if (decision.recreate.length > 0) deps.wake()
  await containers.record()
  if (decision.held.length > 0) await hold(deps, kind, { held: decision.held, total: rows.length })
  else if (held !== undefined) await deps.db.delete(heldSweeps).where(whereSweep(deps, kind))
  if (decision.held.length > 0) return heldMs
  return containers.areSettled ? sweepMs : unsettledMs
}

const keyOf = (
  { namespacePrefix }: PullDeps,
  { organizationId, resourceName: name }: Pick<AppliedRow, 'organizationId' | 'resourceName'>,
): string => objectKey({ namespace: namespaceOf(namespacePrefix, organizationId), name })

const byKey = (objects: readonly KubeObject[]): ReadonlyMap<string, KubeObject> =>
  new Map(objects.map((object) => [objectKey(object), object]))

const whereSweep = ({ cluster }: PullDeps, kind: Kind) =>
  and(eq(heldSweeps.cluster, cluster), eq(heldSweeps.kind, kind))

/** Clears the recorded resource of a row, unless a push has made another one. Push then recreates it. */
const recreate = async (deps: PullDeps, kind: Kind, { id, resourceUid, ...missing }: AppliedRow): Promise<void> => {
  const result = await deps.transaction(async (tx) => {
    const row = await lockSynced(tx, kind, id)
    if (row === undefined || row.deletingAt !== null || row.resourceUid !== resourceUid) return 'changed'
    if (isUnclaimed(row)) return 'unclaimed'
    await forgetResource(tx, kind, id)
    await markRow(tx, kind, row)
    return 'forgotten'
  })
  if (result === 'forgotten') deps.log.warn({ [kind]: id }, 'sweep: resource vanished, recreating it')
  if (result === 'unclaimed') await adapters[kind]((adapter) => pullGone(adapter, deps, keyOf(deps, missing)))
}

/** Records that resources are missing and wait for acceptance, and says so in their rows. */
const hold = async (
  deps: PullDeps,
  kind: Kind,
  { held, total }: { held: readonly Missing[]; total: number },
): Promise<void> => {
  const missing = held.length
  const examples = held.slice(0, maxExamples).map(({ id }) => id)
  const isNew = await deps.transaction(async (tx) => {
    const [before] = await tx.select().from(heldSweeps).where(whereSweep(deps, kind))
    await tx
      .insert(heldSweeps)
      .values({ cluster: deps.cluster, kind, missing, total, examples, heldAt: sql`now()` })
      .onConflictDoUpdate({ target: [heldSweeps.cluster, heldSweeps.kind], set: { missing, total, examples } })
    return before?.missing !== missing
  })
  if (!isNew) return
  await setHeldMessage(
    deps.db,
    kind,
    held.map(({ id }) => id),
  )
  deps.log.error(
    { kind, missing, total },
    'sweep: too many resources are missing; these are not recreated until "orrery sync accept"',
  )
}

/** The recorded uid of a namespace or definition that was found missing or terminating. What it contained is gone with it. */
const goneUid = ''

const nameOfDefinition = ({ plural, group }: Resource): string => `${plural}.${group}`
/** Each kind has its own record of a namespace, because its sweeps are separate. */
const nameOfNamespace = ({ plural }: Resource, name: string): string => `${plural}/${name}`
const namespacesOf = ({ namespacePrefix }: PullDeps, rows: readonly AppliedRow[]): string[] => [
  ...new Set(rows.map(({ organizationId }) => namespaceOf(namespacePrefix, organizationId))),
]

/**
 * Reads the recorded uids of the namespaces of rows and of the definition of their kind. Deletes records of what is gone and has no
 * resource of a row.
 */
const readRecorded = async (
  deps: PullDeps,
  resource: Resource,
  rows: readonly AppliedRow[],
): Promise<ReadonlyMap<string, string>> => {
  const { db, cluster } = deps
  const definition = nameOfDefinition(resource)
  const wanted = new Set(namespacesOf(deps, rows).map((name) => nameOfNamespace(resource, name)))
  if (rows.length > 0) wanted.add(definition)
  const stored = await db.select().from(clusterContainers).where(eq(clusterContainers.cluster, cluster))
  const isOfKind = (name: string): boolean => name === definition || name.startsWith(nameOfNamespace(resource, ''))
  for (const { name, uid } of stored) {
    if (uid !== goneUid || !isOfKind(name) || wanted.has(name)) continue
    await db
      .delete(clusterContainers)
      .where(and(eq(clusterContainers.cluster, cluster), eq(clusterContainers.name, name)))
  }
  return new Map(stored.filter(({ name }) => wanted.has(name)).map(({ name, uid }) => [name, uid]))
}

/** The most namespaces that are read one by one. */
const maxReadAlone = 20

/** Reports whether the definition and the namespaces with these records are missing or terminating. */
const areGone = async (deps: PullDeps, resource: Resource, records: readonly string[]): Promise<boolean> => {
  if (records.length > maxReadAlone) return false
  const definition = nameOfDefinition(resource)
  const prefix = nameOfNamespace(resource, '')
  const live = await Promise.all(
    records.map((record) =>
      record === definition
        ? readObject(deps.definitions, { name: definition })
        : readObject(deps.namespaces, { name: record.slice(prefix.length) }),
    ),
  )
  return live.every((object) => liveUid(object) === goneUid)
}

/** Reads the namespaces of rows and the definition of their kind, if some are not on record or all are to be compared. */
const readContainers = async (
  deps: PullDeps,
  resource: Resource,
  options: {
    readonly rows: readonly AppliedRow[]
    readonly known: ReadonlyMap<string, string>
    readonly isSuspect: boolean
  },
) => {
  const { db, cluster, namespacePrefix } = deps
  const { rows, known, isSuspect } = options
  const definition = nameOfDefinition(resource)
  const recordName = (name: string): string => nameOfNamespace(resource, name)
  const wanted = namespacesOf(deps, rows).filter((name) => isSuspect || !known.has(recordName(name)))
  const live = new Map<string, string>()
  if (wanted.length > 0) {
    live.set(definition, liveUid(await readObject(deps.definitions, { name: definition })))
    const { items } = await deps.namespaces.list()
    const byName = new Map(items.map((each) => [each.metadata.name, each]))
    for (const name of wanted) live.set(recordName(name), liveUid(byName.get(name)))
  }
  /** A namespace may be deleted before a sweep has recorded it. */
  const isReplaced = (name: string): boolean =>
    live.get(name) === goneUid || (known.has(name) && live.has(name) && live.get(name) !== known.get(name))
  return {
    isReplaced: (organizationId: string): boolean =>
      isReplaced(definition) || isReplaced(recordName(namespaceOf(namespacePrefix, organizationId))),
    /** False while a namespace or definition is gone. */
    areSettled: ![...live.values()].includes(goneUid),
    /** Records the uids, once the resources that were missing with the old ones are being recreated. */
    record: async (): Promise<void> => {
      for (const [name, uid] of live) {
        if (known.get(name) === uid || (!isSuspect && known.has(name))) continue
        await db
          .insert(clusterContainers)
          .values({ cluster, name, uid })
          .onConflictDoUpdate({ target: [clusterContainers.cluster, clusterContainers.name], set: { uid } })
      }
    },
  }
}

/** Returns the uid of an object, or `goneUid` if it does not exist or is being deleted. */
const liveUid = (object: KubeObject | undefined): string =>
  object?.metadata.deletionTimestamp === undefined ? (object?.metadata.uid ?? goneUid) : goneUid
