import type { V1Pod } from '@kubernetes/client-node'
import { eq, ne, sql } from 'drizzle-orm'
import { clusterOutbox } from '#api/platform/outbox/table.ts'
import { adapters } from '#api/sync/reconcile/adapters.ts'
import { hasApiMarks } from '#api/sync/reconcile/newResource.ts'
import { tables } from '#api/sync/rows/synced.ts'
import { createClient, type Resource } from '#shared/kube/client.ts'
import { isForbidden } from '#shared/kube/errors.ts'
import type { KubeObjectOf } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import { createClients } from '#shared/resources/clients.ts'
import { kindList, labels, namespaceOf } from '#shared/resources/group.ts'
import type { DiagnosedPod, DiagnosedResource, DiagnosedRow, Snapshot } from './diagnosis.ts'
import { readAdmission, readDefinitions } from './readManifests.ts'
import { readNamespaces, type SnapshotDeps } from './readNamespaces.ts'

/** Reads rows first and the cluster after them, so that a push in between shows as pending and not as a difference. */
export const readSnapshot = async (deps: SnapshotDeps): Promise<Snapshot> => {
  const rows = await readRows(deps)
  const pods = await readPods(deps)
  const resources = await markRowClusters(deps, await readResources(deps))
  const [namespaces, definitions, admission] = await Promise.all([
    readNamespaces(deps),
    readDefinitions(deps),
    readAdmission(deps),
  ])
  return { rows, pods, resources, namespaces, definitions, admission }
}

const readRows = async ({ db, cluster, namespacePrefix }: SnapshotDeps): Promise<DiagnosedRow[]> => {
  const ofKinds = kindList.map((kind) =>
    adapters[kind](async (adapter) => {
      const table = tables[kind]
      const here = await db.select({ id: table.id }).from(table).where(eq(table.cluster, cluster))
      const ids = here.map(({ id }) => id)
      return (await adapter.readPushed(db, ids)).map((row) => ({
        kind,
        id: row.id,
        namespace: namespaceOf(namespacePrefix, row.organizationId),
        resourceName: row.resourceName,
        resourceUid: row.resourceUid,
        revision: row.revision,
        spec: adapter.toSpec(row),
        phase: row.phase,
        // The phase of a kind without runs is not compared.
        runRevision: row.runRevision ?? Number.POSITIVE_INFINITY,
        isDeleting: row.deletingAt !== null,
        isRemoved: row.removedAt !== null,
      }))
    }),
  )
  const marks = db.select({ kind: clusterOutbox.kind, id: clusterOutbox.id, seconds: dirtySeconds }).from(clusterOutbox)
  const [rows, marked] = await Promise.all([Promise.all(ofKinds), marks])
  const dirty = new Map(marked.map(({ kind, id, seconds }) => [`${kind} ${id}`, seconds]))
  return rows.flat().map((row) => ({ ...row, dirtySeconds: dirty.get(`${row.kind} ${row.id}`) }))
}

const dirtySeconds = sql<number>`extract(epoch from now() - ${clusterOutbox.markedAt})::float8`

const readResources = async ({ transport }: SnapshotDeps): Promise<DiagnosedResource[]> => {
  const clients = createClients(transport)
  const ofKinds = kindList.map((kind) =>
    adapters[kind](async (adapter) => {
      const { items } = await adapter.clientOf({ clients }).list()
      return items.map((live) => ({
        kind,
        namespace: live.metadata.namespace ?? '',
        name: live.metadata.name,
        uid: live.metadata.uid ?? '',
        spec: adapter.read(live).resource.spec,
        phase: live.status?.phase,
        observedRevision: live.status?.observedRevision ?? 0,
        isDeleting: live.metadata.deletionTimestamp !== undefined,
        hasMarks: hasApiMarks(live),
      }))
    }),
  )
  return (await Promise.all(ofKinds)).flat()
}

/** Adds to each resource the other cluster that the row of its id belongs to, if one does. */
const markRowClusters = async (
  { db, cluster }: SnapshotDeps,
  resources: readonly DiagnosedResource[],
): Promise<DiagnosedResource[]> => {
  const rows = await Promise.all(
    Object.values(tables).map((table) =>
      db.select({ id: table.id, cluster: table.cluster }).from(table).where(ne(table.cluster, cluster)),
    ),
  )
  const clusters = new Map(rows.flat().map((row) => [row.id, row.cluster]))
  return resources.map((live) => ({ ...live, ...withDefined({ rowCluster: clusters.get(live.name) }) }))
}

const core = (plural: string, kind: string): Resource => ({ group: '', version: 'v1', plural, kind })

/** Reads the pods of servers and bots. Undefined without the right, which the API's own account does not have. */
const readPods = async ({ transport }: SnapshotDeps): Promise<DiagnosedPod[] | undefined> => {
  const client = createClient<KubeObjectOf<V1Pod>>(transport, core('pods', 'Pod'))
  try {
    const { items } = await client.list({ labelSelector: `${labels.managedBy}=orrery-operator` })
    return items.flatMap(({ metadata, status }) => {
      const { [labels.botDeployment]: bots, [labels.world]: world } = metadata.labels ?? {}
      const resourceName = bots ?? world
      if (resourceName === undefined) return []
      return {
        kind: bots === undefined ? ('world' as const) : ('bot' as const),
        namespace: metadata.namespace ?? '',
        name: metadata.name,
        resourceName,
        hasEnded: metadata.deletionTimestamp !== undefined || /^(Succeeded|Failed)$/.test(status?.phase ?? ''),
      }
    })
  } catch (error) {
    if (!isForbidden(error)) throw error
    return undefined
  }
}
