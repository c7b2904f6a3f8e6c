import { and, eq } from 'drizzle-orm'
import { clusterContainers } from '#api/domain/clusters/table.ts'
import { readObject } from '#api/sync/clusters/deletionCause.ts'
import type { ReconcileDeps } from '#api/sync/reconcile/kind.ts'
import type { AppliedRow } from '#api/sync/rows/synced.ts'
import type { Resource } from '#shared/kube/client.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { namespaceOf } from '#shared/resources/group.ts'

type Deps = Pick<ReconcileDeps, 'db' | 'cluster' | 'namespacePrefix' | 'definitions' | 'namespaces'>

/** The recorded uid of a namespace or definition that was found missing or terminating. What it contained is gone with it. */
export const goneUid = ''

const nameOfDefinition = ({ plural, group }: Resource): string => `${plural}.${group}`
/** Each kind has its own record of a namespace, because its sweeps are separate. */
const nameOfNamespace = ({ plural }: Resource, name: string): string => `${plural}/${name}`
const namespacesOf = ({ namespacePrefix }: Deps, rows: readonly AppliedRow[]): string[] => [
  ...new Set(rows.map(({ organizationId }) => namespaceOf(namespacePrefix, organizationId))),
]

/**
 * Reads the recorded uids of the namespaces of rows and of the definition of their kind. Deletes records of what is gone and has no
 * resource of a row.
 */
export const readRecorded = async (
  deps: Deps,
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
export const areGone = async (deps: Deps, resource: Resource, records: readonly string[]): Promise<boolean> => {
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
export const readContainers = async (
  deps: Deps,
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
