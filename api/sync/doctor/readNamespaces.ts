import type { Limits } from '#api/domain/access/limits.ts'
import { readTenancy } from '#api/domain/organizations/limits.ts'
import { organizations } from '#api/domain/organizations/table.ts'
import type { Database } from '#api/platform/database/client.ts'
import { createNamespaceClients, type NamespaceClients } from '#api/sync/namespaces/namespace.ts'
import {
  desiredObjects,
  findFaults,
  type KeptStores,
  type ObjectOptions,
} from '#api/sync/namespaces/namespaceObjects.ts'
import { organizationOf } from '#api/sync/rows/identity.ts'
import type { Client } from '#shared/kube/client.ts'
import { type KubeObject, objectKey } from '#shared/kube/objects.ts'
import type { Transport } from '#shared/kube/transport.ts'
import { labels, namespaceOf } from '#shared/resources/group.ts'
import type { ScalingProfiles } from '#shared/scalingProfiles.ts'
import type { DiagnosedNamespace } from './diagnosis.ts'

/** A policy that names the API; it can be compared only if the URL of the API is known. */
const policyOfApi = 'names-and-api'
/** Stands for an unknown URL in the policy that is then not compared. */
const unknownUrl = 'https://unknown.invalid'

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
    readonly network: Pick<ObjectOptions['network'], 'apiNetworks' | 'dnsNetworks'>
  }
}

/** Reads the namespaces of organizations, and how the objects that the API keeps in them differ. */
export const readNamespaces = async (deps: SnapshotDeps): Promise<DiagnosedNamespace[]> => {
  const { db, transport, namespacePrefix } = deps
  const rows = await db.select({ id: organizations.id, deletingAt: organizations.deletingAt }).from(organizations)
  const clients = createNamespaceClients(transport)
  const { items } = await clients.namespaces.list()
  const live = new Map(items.map((each) => [each.metadata.name, each]))
  const stores = await readStores(clients)
  const own = rows
    .filter(({ id, deletingAt }) => deletingAt === null || live.has(namespaceOf(namespacePrefix, id)))
    .map(async ({ id, deletingAt }): Promise<DiagnosedNamespace> => {
      const name = namespaceOf(namespacePrefix, id)
      const namespace = live.get(name)
      return {
        name,
        organizationId: id,
        owner: deletingAt === null ? 'living' : 'deleted',
        exists: namespace !== undefined,
        isDeleting: namespace?.metadata.deletionTimestamp !== undefined,
        faults: namespace === undefined ? [] : await readFaults(deps, id, { namespace, stores }),
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

const readFaults = async (
  { db, defaultLimits, ...deps }: SnapshotDeps,
  organizationId: string,
  { namespace, stores }: { readonly namespace: KubeObject; readonly stores: KeptStores },
): Promise<string[]> => {
  const tenancy = await readTenancy(db, defaultLimits, organizationId)
  if (tenancy === undefined) return []
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
