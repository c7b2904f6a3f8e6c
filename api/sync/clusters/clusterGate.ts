import { and, eq, isNull, ne, sql } from 'drizzle-orm'
import { explainRefusal } from '#api/domain/clusters/explain.ts'
import { type ClusterStateRow, clusterStates } from '#api/domain/clusters/table.ts'
import type { Database } from '#api/platform/database/client.ts'
import { type Clock, sleep } from '#shared/clock.ts'
import type { Client } from '#shared/kube/client.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { isOlder } from '#shared/kube/versions.ts'
import type { Log } from '#shared/log.ts'

/** The longest age of a result that a push may rely on. It is also the interval of the checks. */
const freshMs = 5_000
const systemNamespace = 'kube-system'

/** The error of an action that a refused cluster prevents. */
export class ClusterRefused extends Error {
  override name = 'ClusterRefused'
}

/** The gate before a cluster. It is closed while the cluster is not the accepted one. */
export type ClusterGate = {
  /** Reports whether the last check refused the cluster. */
  isRefused(): boolean
  /**
   * Returns if the cluster is the accepted one. Throws `ClusterRefused` if not, and a `KubeError` if it does not respond. A
   * result is used for 5 s; `fresh` reads the cluster again.
   */
  check(options?: { fresh: true }): Promise<void>
  /** Refuses the cluster because an object proves that it was restored. Rejects with `ClusterRefused`. */
  refuseRestored(): Promise<never>
  /** Checks the cluster at an interval, until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
}

type Options = {
  readonly db: Database
  readonly namespaces: Client<KubeObject>
  readonly cluster: string
  readonly clock: Clock
  readonly log: Log
}

/** Creates the gate. The first cluster is accepted; later ones must be the same. */
export const createClusterGate = (options: Options): ClusterGate => {
  const { clock, log } = options
  let last: { readonly refused: string | undefined; readonly atMs: number } | undefined
  let reading: Promise<void> | undefined
  const read = async (): Promise<void> => {
    const state = await checkCluster(options)
    const { refusal, twin } = state
    const refused = twin === undefined ? explainRefusal(state) || undefined : explainTwin(twin)
    if (refused !== last?.refused) {
      if (refused !== undefined) log.error({ cluster: options.cluster, refusal }, `sync: ${refused}`)
      else if (last !== undefined) log.info({ cluster: options.cluster }, 'sync: the cluster is accepted')
    }
    last = { refused, atMs: clock.monotonic() }
  }
  const check: ClusterGate['check'] = async ({ fresh } = {} as { fresh: true }) => {
    if (fresh || last === undefined || clock.monotonic() - last.atMs >= freshMs) {
      // A check that began earlier may have read the cluster before the caller did.
      if (fresh) await reading?.catch(() => undefined)
      reading ??= read().finally(() => (reading = undefined))
      await reading
    }
    if (last?.refused !== undefined) throw new ClusterRefused(last.refused)
  }
  return {
    isRefused: () => last?.refused !== undefined,
    check,
    refuseRestored: async () => {
      await options.db
        .update(clusterStates)
        .set({ refusal: 'RestoredCluster', refusedUid: clusterStates.uid, refusedAt: sql`now()` })
        .where(and(eq(clusterStates.name, options.cluster), isNull(clusterStates.refusal)))
      await check({ fresh: true })
      throw new ClusterRefused('The cluster was restored from a backup.')
    },
    run: async (signal) => {
      while (!signal.aborted) {
        await check({ fresh: true }).catch((error: unknown) => {
          if (!(error instanceof ClusterRefused)) log.debug({ err: error }, 'sync: the cluster could not be checked')
        })
        await sleep(clock, freshMs, signal)
      }
    },
  }
}

/** The result of a check. `twin` is another name of the same cluster. */
type Checked = Pick<ClusterStateRow, 'refusal' | 'refusedUid'> & { readonly twin?: string }

/** Explains that a cluster has two names. Under each name, the worlds of the other one would count as leftovers. */
const explainTwin = (twin: string): string =>
  `The cluster is on record as ${twin}. Nothing is pushed or pulled. List each cluster under one name, and keep that name.`

/** Compares the cluster with the accepted one and records the result. */
const checkCluster = async (options: Options): Promise<Checked> => {
  const { db, namespaces, cluster } = options
  const [known] = await db.select().from(clusterStates).where(eq(clusterStates.name, cluster))
  const seen = await readCluster(namespaces)
  const isTwin = and(eq(clusterStates.uid, seen.uid), ne(clusterStates.name, cluster))
  const [twin] = await db.select({ name: clusterStates.name }).from(clusterStates).where(isTwin).limit(1)
  if (twin !== undefined) return { refusal: null, refusedUid: null, twin: twin.name }
  if (known === undefined) {
    const first = { name: cluster, ...seen }
    const inserted = await db.insert(clusterStates).values(first).onConflictDoNothing().returning()
    // Another replica was first, perhaps with another cluster.
    return inserted[0] ?? checkCluster(options)
  }
  const refusal = findRefusal(known, seen)
  const refusedUid = refusal === null ? null : seen.uid
  // Another replica may have accepted a cluster since the read.
  const isKnown = and(eq(clusterStates.name, cluster), eq(clusterStates.uid, known.uid))
  const isNewer = sql`${clusterStates.version} = ${known.version}`
  if (refusal !== null && (refusal !== known.refusal || refusedUid !== known.refusedUid)) {
    await db.update(clusterStates).set({ refusal, refusedUid, refusedAt: sql`now()` }).where(and(isKnown, isNewer))
  }
  if (refusal === null && (known.refusal !== null || known.version !== seen.version)) {
    await db
      .update(clusterStates)
      .set({ version: seen.version, refusal: null, refusedUid: null, refusedAt: null })
      .where(and(isKnown, isNewer))
  }
  return { refusal, refusedUid }
}

/** The identity that a cluster shows: the uid of the namespace kube-system and the newest resourceVersion. */
type SeenCluster = { readonly uid: string; readonly version: string }

/**
 * Decides whether a cluster is the accepted one. `known` must be read before the cluster, because its version grows. A
 * restored cluster stays refused until it is accepted, because its version grows past the recorded one.
 *
 * - `AnotherCluster`: the uid differs, so none of the recorded resources is there.
 * - `RestoredCluster`: the version is lower than one that the same cluster has shown, so it was restored from a backup.
 */
export const findRefusal = (
  known: Pick<ClusterStateRow, 'uid' | 'version' | 'refusal'>,
  seen: SeenCluster,
): ClusterStateRow['refusal'] => {
  if (known.uid !== seen.uid) return 'AnotherCluster'
  const isRestored = known.refusal === 'RestoredCluster' || isOlder(seen.version, known.version)
  return isRestored ? 'RestoredCluster' : null
}

/** Reads the identity of the cluster. The version is that of a consistent list, so it never decreases in one cluster. */
const readCluster = async (namespaces: Client<KubeObject>): Promise<SeenCluster> => {
  const { metadata } = await namespaces.get({ name: systemNamespace })
  const { resourceVersion } = await namespaces.list({ fieldSelector: `metadata.name=${systemNamespace}` })
  if (metadata.uid === undefined) throw new Error(`The namespace ${systemNamespace} has no uid.`)
  return { uid: metadata.uid, version: resourceVersion }
}

/** Runs `pull` while the cluster is accepted, and again after each time that it was refused. */
export const whileAccepted = async (
  gate: ClusterGate,
  clock: Clock,
  signal: AbortSignal,
  pull: (signal: AbortSignal) => Promise<void>,
): Promise<void> => {
  while (!signal.aborted) {
    const isAccepted = await gate.check().then(
      () => true,
      () => false,
    )
    if (isAccepted) {
      const refused = new AbortController()
      const inner = AbortSignal.any([signal, refused.signal])
      const watching = watchGate(gate, clock, inner).finally(() => refused.abort())
      await Promise.all([watching, pull(inner)])
    }
    await sleep(clock, watchMs, signal)
  }
}

/** The interval for seeing a result of the gate. */
const watchMs = 1_000

const watchGate = async (gate: ClusterGate, clock: Clock, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted && !gate.isRefused()) await sleep(clock, watchMs, signal)
}
