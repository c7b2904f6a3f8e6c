import { and, eq, sql } from 'drizzle-orm'
import { heldSweeps } from '#api/domain/clusters/table.ts'
import { ClusterRefused } from '#api/sync/clusters/clusterGate.ts'
import { type PullDeps, pullGone } from '#api/sync/pull/pull.ts'
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
  setWaitingMessage,
} from '#api/sync/rows/synced.ts'
import { sleep } from '#shared/clock.ts'
import type { Resource } from '#shared/kube/client.ts'
import { type KubeObject, objectKey } from '#shared/kube/objects.ts'
import { namespaceOf } from '#shared/resources/group.ts'
import { areGone, goneUid, readContainers, readRecorded } from './containers.ts'

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
        let waitMs = heldMs
        try {
          waitMs = await sweepMissing(deps, swept)
          failure = undefined
        } catch (error) {
          // The gate has logged that the cluster is refused. An absent definition fails every sweep until it is back.
          const message = error instanceof ClusterRefused ? undefined : String(error)
          if (message !== undefined && message !== failure) {
            deps.log.warn({ kind: swept.kind, err: error }, 'sweep: failed, retrying')
          }
          failure = message
        }
        await sleep(deps.clock, waitMs, AbortSignal.any([signal, requested.signal]))
        if (requested.signal.aborted) await sleep(deps.clock, settleMs, signal)
      }
    },
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

/** The share of the resources that a sweep may recreate without acceptance. */
const maxShare = 0.1
const alwaysAllowed = 5

/** A row whose resource is missing in the cluster. */
type Missing = {
  readonly id: string
  /** True if a namespace or definition was deleted in this cluster and took the resource with it. */
  readonly isExplained: boolean
}

/**
 * Returns the rows whose resources are recreated, and those that wait for acceptance. Limits a sweep to 10 % of the `total`
 * resources, at least 5, or to the `accepted` number if that is higher. Above the limit, only explained resources are recreated.
 */
export const decideSweep = <T extends Missing>(
  missing: readonly T[],
  { total, accepted }: { total: number; accepted: number },
): { readonly recreate: readonly T[]; readonly held: readonly T[] } => {
  const limit = Math.max(alwaysAllowed, Math.floor(total * maxShare), accepted)
  const unexplained = missing.filter(({ isExplained }) => !isExplained)
  if (unexplained.length <= limit) return { recreate: missing, held: [] }
  return { recreate: missing.filter(({ isExplained }) => isExplained), held: unexplained }
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

const heldMessage =
  'this resource and many others are missing from the cluster. The platform operator must confirm that they are recreated.'

/** Records that resources are missing and wait for acceptance, and says so in their rows. */
const hold = async (
  deps: PullDeps,
  kind: Kind,
  { held, total }: { held: readonly Missing[]; total: number },
): Promise<void> => {
  const missing = held.length
  const ids = held.map(({ id }) => id)
  const examples = ids.slice(0, maxExamples)
  const isNew = await deps.transaction(async (tx) => {
    const [before] = await tx.select().from(heldSweeps).where(whereSweep(deps, kind))
    await tx
      .insert(heldSweeps)
      .values({ cluster: deps.cluster, kind, missing, total, examples, heldAt: sql`now()` })
      .onConflictDoUpdate({ target: [heldSweeps.cluster, heldSweeps.kind], set: { missing, total, examples } })
    return before?.missing !== missing
  })
  if (!isNew) return
  await setWaitingMessage(deps.db, kind, ids, heldMessage)
  deps.log.error(
    { kind, missing, total },
    'sweep: too many resources are missing; these are not recreated until "orrery sync accept"',
  )
}
