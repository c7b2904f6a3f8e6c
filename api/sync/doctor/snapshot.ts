import type { V1Pod } from '@kubernetes/client-node'
import { eq, ne, sql } from 'drizzle-orm'
import { botDeployments } from '#api/domain/bots/table.ts'
import { pushedColumns, worlds } from '#api/domain/worlds/table.ts'
import { clusterOutbox } from '#api/platform/outbox/table.ts'
import { hasApiMarks } from '#api/sync/reconcile/newResource.ts'
import { desiredBotSpec, desiredSpec } from '#api/sync/rows/desired.ts'
import { type Kind, type SyncedRow, tables } from '#api/sync/rows/synced.ts'
import { createClient, type Resource } from '#shared/kube/client.ts'
import { isForbidden } from '#shared/kube/errors.ts'
import type { KubeObject, KubeObjectOf } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { botDeploymentResource, labels, namespaceOf, worldResource } from '#shared/resources/group.ts'
import { readBots, readWorld } from '#shared/resources/read.ts'
import type { World } from '#shared/resources/world.ts'
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

const readRows = async (deps: SnapshotDeps): Promise<DiagnosedRow[]> => {
  const { db, cluster } = deps
  const [worldRows, botRows, marks] = await Promise.all([
    db.select(pushedColumns).from(worlds).where(eq(worlds.cluster, cluster)),
    db.select().from(botDeployments).where(eq(botDeployments.cluster, cluster)),
    db.select({ kind: clusterOutbox.kind, id: clusterOutbox.id, seconds: dirtySeconds }).from(clusterOutbox),
  ])
  const dirty = new Map(marks.map(({ kind, id, seconds }) => [`${kind} ${id}`, seconds]))
  const common = (kind: Kind, row: SyncedRow & { readonly phase: string; readonly removedAt: Date | null }) => ({
    kind,
    id: row.id,
    namespace: namespaceOf(deps.namespacePrefix, row.organizationId),
    resourceName: row.resourceName,
    resourceUid: row.resourceUid,
    revision: row.revision,
    phase: row.phase,
    isDeleting: row.deletingAt !== null,
    isRemoved: row.removedAt !== null,
    dirtySeconds: dirty.get(`${kind} ${row.id}`),
  })
  return [
    ...worldRows.map((row) => ({
      ...common('world', row),
      spec: desiredSpec(row),
      runRevision: row.runRevision,
    })),
    ...botRows.map((row) => ({ ...common('bot', row), spec: desiredBotSpec(row), runRevision: 0 })),
  ]
}

const dirtySeconds = sql<number>`extract(epoch from now() - ${clusterOutbox.markedAt})::float8`

const readResources = async ({ transport }: SnapshotDeps): Promise<DiagnosedResource[]> => {
  const [worldList, botList] = await Promise.all([
    createClient<World>(transport, worldResource).list(),
    createClient<BotDeployment>(transport, botDeploymentResource).list(),
  ])
  const common = (live: KubeObject & { readonly spec: object }) => ({
    namespace: live.metadata.namespace ?? '',
    name: live.metadata.name,
    uid: live.metadata.uid ?? '',
    isDeleting: live.metadata.deletionTimestamp !== undefined,
    hasMarks: hasApiMarks(live),
  })
  return [
    ...worldList.items.map((live) => ({
      ...common(live),
      kind: 'world' as const,
      spec: readWorld(live).resource.spec,
      phase: live.status?.phase,
      observedRevision: live.status?.observedRevision ?? 0,
    })),
    ...botList.items.map((live) => ({
      ...common(live),
      kind: 'bot' as const,
      spec: readBots(live).resource.spec,
      phase: undefined,
      observedRevision: 0,
    })),
  ]
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
