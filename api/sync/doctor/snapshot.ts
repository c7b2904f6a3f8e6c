import type { V1Pod } from '@kubernetes/client-node'
import { eq, ne, sql } from 'drizzle-orm'
import type { Limits } from '#api/domain/access/limits.ts'
import { readTenancy } from '#api/domain/organizations/limits.ts'
import { organizations } from '#api/domain/organizations/table.ts'
import type { Database } from '#api/platform/database/client.ts'
import { clusterOutbox } from '#api/platform/outbox/table.ts'
import { readHostPortProblem } from '#api/sync/namespaces/hostPortCheck.ts'
import { createNamespaceClients, type NamespaceClients } from '#api/sync/namespaces/namespace.ts'
import {
  type CheckedTenancy,
  desiredObjects,
  findFaults,
  type KeptStores,
  type ObjectOptions,
} from '#api/sync/namespaces/namespaceObjects.ts'
import { adapters } from '#api/sync/reconcile/adapters.ts'
import { hasApiMarks } from '#api/sync/reconcile/newResource.ts'
import { organizationOf } from '#api/sync/rows/identity.ts'
import { tables } from '#api/sync/rows/synced.ts'
import type { HostPorts } from '#shared/domain/hostPorts.ts'
import { type Client, createClient, type Resource } from '#shared/kube/client.ts'
import { isForbidden } from '#shared/kube/errors.ts'
import { type KubeObject, type KubeObjectOf, objectKey } from '#shared/kube/objects.ts'
import type { Transport } from '#shared/kube/transport.ts'
import { withDefined } from '#shared/optional.ts'
import { createClients } from '#shared/resources/clients.ts'
import { kindList, labels, namespaceOf } from '#shared/resources/group.ts'
import type { ScalingProfiles } from '#shared/scalingProfiles.ts'
import type { DiagnosedNamespace, DiagnosedPod, DiagnosedResource, DiagnosedRow, Snapshot } from './diagnosis.ts'
import { readAdmission, readDefinitions } from './readManifests.ts'

/** The source of a snapshot. */
export type SnapshotDeps = {
  readonly db: Database
  readonly transport: Transport
  readonly cluster: string
  readonly namespacePrefix: string
  readonly defaultLimits: Limits
  readonly profiles: ScalingProfiles
  /** The settings that the objects which the API keeps depend on. Without a URL, the rules that name the API are not compared. */
  readonly settings: {
    readonly publicUrl: string | undefined
    readonly port: number
    readonly clusterUsers: ObjectOptions['users']
    readonly hostPorts: HostPorts
    readonly network: Pick<ObjectOptions['network'], 'apiNetworks' | 'dnsNetworks'>
  }
}

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

/** A policy that names the API; it can be compared only if the URL of the API is known. */
const policyOfApi = 'names-and-api'
/** Stands for an unknown URL in the policy that is then not compared. */
const unknownUrl = 'https://unknown.invalid'

/** Reads the namespaces of organizations, and how the objects that the API keeps in them differ. */
const readNamespaces = async (deps: SnapshotDeps): Promise<DiagnosedNamespace[]> => {
  const { db, transport, namespacePrefix } = deps
  const rows = await db.select({ id: organizations.id, deletingAt: organizations.deletingAt }).from(organizations)
  const clients = createNamespaceClients(transport)
  const { items } = await clients.namespaces.list()
  const live = new Map(items.map((each) => [each.metadata.name, each]))
  const stores = await readStores(clients)
  const hostPortProblem = await readHostPortProblem(clients)
  const own = rows
    .filter(({ id, deletingAt }) => deletingAt === null || live.has(namespaceOf(namespacePrefix, id)))
    .map(async ({ id, deletingAt }): Promise<DiagnosedNamespace> => {
      const name = namespaceOf(namespacePrefix, id)
      const namespace = live.get(name)
      const tenancy = await readTenancy(db, deps.defaultLimits, id)
      const isHeld = hostPortProblem !== undefined && tenancy?.limits.hostPorts === true && namespace !== undefined
      return {
        name,
        organizationId: id,
        owner: deletingAt === null ? 'living' : 'deleted',
        exists: namespace !== undefined,
        isDeleting: namespace?.metadata.deletionTimestamp !== undefined,
        faults:
          namespace === undefined || tenancy === undefined
            ? []
            : readFaults(deps, id, {
                tenancy: { ...tenancy, arePodsChecked: hostPortProblem === undefined },
                namespace,
                stores,
              }),
        ...(isHeld ? { hostPortProblem } : {}),
      }
    })
  const known = new Set(rows.map(({ id }) => id))
  const others = items.flatMap(({ metadata }): DiagnosedNamespace[] => {
    const organizationId = organizationOf(namespacePrefix, metadata.name)
    if (organizationId === undefined || known.has(organizationId)) return []
    return metadata.labels?.[labels.managedBy] === 'orrery-api'
      ? [{ name: metadata.name, organizationId, owner: 'unknown', exists: true, isDeleting: false, faults: [] }]
      : []
  })
  return [...(await Promise.all(own)), ...others]
}

type Found = { readonly tenancy: CheckedTenancy; readonly namespace: KubeObject; readonly stores: KeptStores }

const readFaults = (deps: SnapshotDeps, organizationId: string, { tenancy, namespace, stores }: Found): string[] => {
  const { publicUrl = unknownUrl, port, network, clusterUsers } = deps.settings
  const options: ObjectOptions = {
    prefix: deps.namespacePrefix,
    network: { publicUrl, apiPort: port, ...network },
    profiles: deps.profiles,
    users: clusterUsers,
  }
  const { kept, ...desired } = desiredObjects(organizationId, tenancy, options)
  const networkPolicies = kept.networkPolicies.filter(
    ({ metadata }) => metadata.name !== policyOfApi || publicUrl !== unknownUrl,
  )
  return findFaults({ ...desired, kept: { ...kept, networkPolicies } }, namespace, stores)
}

const readStores = async (clients: NamespaceClients): Promise<KeptStores> => {
  const read = async <T extends KubeObject>(client: Client<T>): Promise<ReadonlyMap<string, T>> => {
    const { items } = await client.list()
    return new Map(items.map((each) => [objectKey(each), each]))
  }
  const [roleBindings, networkPolicies, resourceQuotas, limitRanges, serviceAccounts] = await Promise.all([
    read(clients.roleBindings),
    read(clients.networkPolicies),
    read(clients.resourceQuotas),
    read(clients.limitRanges),
    read(clients.serviceAccounts),
  ])
  return { roleBindings, networkPolicies, resourceQuotas, limitRanges, serviceAccounts }
}
