import type { V1Pod } from '@kubernetes/client-node'
import { eq, isNull, ne, sql } from 'drizzle-orm'
import type { Limits } from '#api/domain/access/limits.ts'
import { botDeployments } from '#api/domain/bots/table.ts'
import { readLimits } from '#api/domain/organizations/limits/service.ts'
import { organizations } from '#api/domain/organizations/table.ts'
import { pushedColumns, worlds } from '#api/domain/worlds/table.ts'
import type { Database } from '#api/platform/database/client.ts'
import { clusterOutbox } from '#api/platform/outbox/table.ts'
import { isEqualQuota, type ResourceQuota, resourceQuota } from '#api/sync/namespaces/quotas.ts'
import { hasApiMarks } from '#api/sync/pull/newResource.ts'
import { desiredBotSpec, desiredSpec } from '#api/sync/rows/desired.ts'
import { organizationOf } from '#api/sync/rows/identity.ts'
import type { Kind, SyncedRow } from '#api/sync/rows/synced.ts'
import { createClient, type Resource } from '#shared/kube/client.ts'
import { isForbidden } from '#shared/kube/errors.ts'
import { type KubeObject, type KubeObjectOf, objectKey } from '#shared/kube/objects.ts'
import type { Transport } from '#shared/kube/transport.ts'
import { withDefined } from '#shared/optional.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { botDeploymentResource, labels, namespaceOf, worldResource } from '#shared/resources/group.ts'
import { readBots, readWorld } from '#shared/resources/read.ts'
import type { World } from '#shared/resources/world.ts'
import type { ScalingProfiles } from '#shared/scalingProfiles.ts'
import type { DiagnosedNamespace, DiagnosedPod, DiagnosedResource, DiagnosedRow, Snapshot } from './diagnosis.ts'

/** The source of a snapshot. */
export type SnapshotDeps = {
  readonly db: Database
  readonly transport: Transport
  readonly cluster: string
  readonly namespacePrefix: string
  readonly defaultLimits: Limits
  readonly profiles: ScalingProfiles
}

/** Reads rows first and the cluster after them, so that a push in between shows as pending and not as a difference. */
export const readSnapshot = async (deps: SnapshotDeps): Promise<Snapshot> => {
  const rows = await readRows(deps)
  const pods = await readPods(deps)
  const resources = await markRowClusters(deps, await readResources(deps))
  return { rows, pods, resources, namespaces: await readNamespaces(deps) }
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
  const [worldRows, botRows] = await Promise.all([
    db.select({ id: worlds.id, cluster: worlds.cluster }).from(worlds).where(ne(worlds.cluster, cluster)),
    db
      .select({ id: botDeployments.id, cluster: botDeployments.cluster })
      .from(botDeployments)
      .where(ne(botDeployments.cluster, cluster)),
  ])
  const clusters = new Map([...worldRows, ...botRows].map((row) => [row.id, row.cluster]))
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

/** The kinds of objects in the namespace of each organization, with their names. */
const keptKinds = [
  {
    resource: { group: 'networking.k8s.io', version: 'v1', plural: 'networkpolicies', kind: 'NetworkPolicy' },
    names: ['default-deny', 'worlds', 'bots', 'names-and-api'],
  },
  {
    resource: { group: 'rbac.authorization.k8s.io', version: 'v1', plural: 'rolebindings', kind: 'RoleBinding' },
    names: ['orrery-api-tenant', 'orrery-operator-tenant'],
  },
  { resource: core('resourcequotas', 'ResourceQuota'), names: ['orrery'] },
  { resource: core('limitranges', 'LimitRange'), names: ['orrery'] },
  { resource: core('serviceaccounts', 'ServiceAccount'), names: ['orrery-pods'] },
]

const readNamespaces = async (deps: SnapshotDeps): Promise<DiagnosedNamespace[]> => {
  const { db, transport, namespacePrefix } = deps
  const own = await db.select({ id: organizations.id }).from(organizations).where(isNull(organizations.deletingAt))
  const { items } = await createClient(transport, core('namespaces', 'Namespace')).list()
  const live = new Map(items.map((each) => [each.metadata.name, each]))
  const kept = await Promise.all(
    keptKinds.map(async ({ resource, names }) => {
      const list = await createClient<ResourceQuota>(transport, resource).list()
      return { kind: resource.kind, names, objects: new Map(list.items.map((each) => [objectKey(each), each])) }
    }),
  )
  const owned = own.map(async ({ id }): Promise<DiagnosedNamespace> => {
    const name = namespaceOf(namespacePrefix, id)
    const namespace = live.get(name)
    const limits = namespace && (await readLimits(db, deps.defaultLimits, id))
    const quota = limits && resourceQuota(name, limits, deps.profiles)
    const faults = kept.flatMap(({ kind, names, objects }) =>
      names
        .filter((each) => {
          const object = objects.get(objectKey({ namespace: name, name: each }))
          return object === undefined || (kind === 'ResourceQuota' && quota && !isEqualQuota(object, quota))
        })
        .map((each) => `${kind} ${each}`),
    )
    return {
      name,
      organizationId: id,
      isOwn: true,
      exists: namespace !== undefined,
      isDeleting: namespace?.metadata.deletionTimestamp !== undefined,
      faults,
    }
  })
  const known = new Set(own.map(({ id }) => id))
  const others = items.flatMap(({ metadata }): DiagnosedNamespace[] => {
    const organizationId = organizationOf(namespacePrefix, metadata.name)
    if (organizationId === undefined || known.has(organizationId)) return []
    return metadata.labels?.[labels.managedBy] === 'orrery-api'
      ? [{ name: metadata.name, organizationId, isOwn: false, exists: true, isDeleting: false, faults: [] }]
      : []
  })
  return [...(await Promise.all(owned)), ...others]
}
