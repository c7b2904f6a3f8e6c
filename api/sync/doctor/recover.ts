import { isDeepStrictEqual } from 'node:util'
import type { Limits } from '#api/domain/access/limits.ts'
import type { FindingRow } from '#api/domain/clusters/table.ts'
import { organizations } from '#api/domain/organizations/table.ts'
import { lockProject } from '#api/domain/projects/projects.ts'
import { type CommandAuthor, recordCommand } from '#api/platform/audit/records.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { markDirty, organizationMark } from '#api/platform/outbox/outbox.ts'
import { readObject } from '#api/sync/clusters/deletionCause.ts'
import { adapters } from '#api/sync/reconcile/adapters.ts'
import type { Adapter, NewRowDeps, Types } from '#api/sync/reconcile/kind.ts'
import { NotAdopted } from '#api/sync/reconcile/newResource.ts'
import { organizationOf } from '#api/sync/rows/identity.ts'
import { findRowId, type Kind, lockSynced, readOwner } from '#api/sync/rows/synced.ts'
import { isId } from '#shared/ids.ts'
import type { Client } from '#shared/kube/client.ts'
import { type KubeObject, type ObjectMeta, objectKey } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import type { Clients } from '#shared/resources/clients.ts'
import { idLabelOf, kinds, labels, namespaceOf } from '#shared/resources/group.ts'
import { readRecordedLimits } from '#shared/resources/namespacePolicy.ts'
import { type Identified, resourceIdOf } from '#shared/resources/resourceId.ts'

/** The dependencies of a recovery. */
export type RecoveryDeps = NewRowDeps &
  CommandAuthor & {
    readonly db: Database
    readonly namespacePrefix: string
    readonly clients: Clients
    readonly namespaces: Client<KubeObject>
  }

/** A finding whose resource is to be brought together with a row. */
export type Finding = Pick<FindingRow, 'kind' | 'namespace' | 'name' | 'uid'>

/** Returns the resource of a finding. Throws if it was deleted or replaced. */
const readLive = async <T extends KubeObject>(client: Client<T>, { namespace, name, uid }: Finding): Promise<T> => {
  const live = await readObject(client, { namespace, name })
  if (live?.metadata.uid !== uid) throw new Error('It no longer exists.')
  if (live.metadata.deletionTimestamp !== undefined) throw new Error('It is being deleted.')
  return live
}

/** Writes the audit record of a recovered resource in its organization. */
const recordRecovery = (
  deps: RecoveryDeps,
  tx: Transaction,
  action: string,
  { id, organizationId, projectId }: { id: string; organizationId: string; projectId?: string },
): Promise<void> => recordCommand(deps, tx, { action, resources: [id], organizationId, ...withDefined({ projectId }) })

/** Deletes an orphan. The API then removes its finalizer. Throws if it may belong to the organization of another API. */
export const removeOrphan = async (deps: RecoveryDeps, finding: Finding): Promise<void> => {
  const { kind, namespace, name, uid } = finding
  const organizationId = organizationOf(deps.namespacePrefix, namespace)
  if (organizationId === undefined || (await readOwner(deps.db, organizationId)) === 'unknown') {
    throw new Error('Its organization has no row. Adopt it, and delete the organization over REST.')
  }
  await deps.db.transaction(async (tx) => {
    await recordRecovery(deps, tx, `remove${kinds[kind].kind}`, { id: name, organizationId })
    await deps.clients[kind].delete({ namespace, name }, { uid })
  })
}

/**
 * Gives an orphan a row with the settings and the run of the resource, so that its servers keep running. The next push merges the
 * settings under the rules for edits with kubectl. An organization without a row gets one first. Throws if the row cannot be made.
 */
export const adoptOrphan = async (deps: RecoveryDeps, finding: Finding): Promise<void> => {
  const organizationId = organizationOf(deps.namespacePrefix, finding.namespace)
  if (organizationId === undefined) throw new Error(`The namespace ${finding.namespace} belongs to no organization.`)
  await restoreOrganization(deps, organizationId)
  await adapters[finding.kind]((adapter) => adopt(adapter, deps, finding, organizationId))
}

const adopt = async <T extends Types>(
  adapter: Adapter<T>,
  deps: RecoveryDeps,
  finding: Finding,
  organizationId: string,
): Promise<void> => {
  const { kind } = adapter
  const client = adapter.clientOf(deps)
  const live = adapter.read(await readLive(client, finding)).resource
  const metadata = withId(kind, live)
  await requireOnlyClaim(client, metadata, idLabelOf(kind))
  try {
    await deps.db.transaction(async (tx) => {
      if ((await findRowId(tx, kind, { ...finding, organizationId, cluster: deps.cluster })) !== undefined) {
        await refuseDeletedRow(tx, finding)
      }
      const made = {
        organizationId,
        metadata: await withProject(tx, kind, { organizationId, metadata }),
        spec: live.spec,
      }
      const row = await adapter.insert(deps, tx, made)
      const { columns, spec } = adapter.runOf(live)
      const revision = live.spec.revision ?? row.revision
      await adapter.update(tx, row.id, {
        ...columns,
        revision,
        resourceName: live.metadata.name,
        // The base has the run, which no edit may change; all else that differs from the defaults is adopted.
        applied: { ...row.applied, ...spec, ...withDefined({ revision: live.spec.revision }) } as T['spec'],
      })
      await markDirty(tx, { kind, id: row.id, revision })
      await recordRecovery(deps, tx, `adopt${kinds[kind].kind}`, row)
    })
  } catch (error) {
    if (error instanceof NotAdopted) throw new Error(error.state.message)
    throw error
  }
}

/**
 * Gives an organization its row again, unless it has one: with its id as its name, and the limits that the API wrote to its
 * namespace. Its API keys, projects and documents are not in the cluster. Throws if the organization is deleted, or if the API
 * did not make the namespace.
 */
const restoreOrganization = async (deps: RecoveryDeps, organizationId: string): Promise<void> => {
  const { db, namespacePrefix, defaultLimits, cluster, clock } = deps
  const name = namespaceOf(namespacePrefix, organizationId)
  const owner = await readOwner(db, organizationId)
  if (owner === 'living') return
  if (owner === 'deleted') throw new Error('Its organization was deleted. Restore the organization, or remove it.')
  const namespace = await readObject(deps.namespaces, { name })
  if (namespace === undefined || !isMadeByApi(namespace, organizationId)) {
    throw new Error(`The API did not make the namespace ${name}. Check its labels.`)
  }
  const now = new Date(clock.now())
  await db.transaction(async (tx) => {
    const made = await tx
      .insert(organizations)
      .values({
        id: organizationId,
        name: organizationId,
        tenantId: organizationId,
        features: {},
        limits: recordedLimits(namespace, defaultLimits),
        createdAt: now,
        updatedAt: now,
      })
      .onConflictDoNothing()
      .returning({ revision: organizations.revision })
    for (const { revision } of made) {
      await markDirty(tx, { kind: 'organization', id: organizationMark(organizationId, cluster), revision })
      await recordCommand(deps, tx, { action: 'adoptOrganization', resources: [organizationId], organizationId })
    }
  })
}

const isMadeByApi = ({ metadata }: KubeObject, organizationId: string): boolean =>
  isId('organization', organizationId) &&
  metadata.labels?.[labels.organization] === organizationId &&
  metadata.labels[labels.managedBy] === 'orrery-api'

/** Returns the limits of the namespace's annotations that differ from the defaults. */
const recordedLimits = ({ metadata }: KubeObject, defaults: Limits): Partial<Limits> => {
  const recorded = Object.entries(readRecordedLimits(metadata))
  const known: Readonly<Record<string, unknown>> = defaults
  return Object.fromEntries(recorded.filter(([name, value]) => !isDeepStrictEqual(value, known[name])))
}

/**
 * Throws if another resource has the id, which is given as the name, as its name or label. Either may be a tenant's imitation,
 * and a person must decide.
 */
const requireOnlyClaim = async <T extends KubeObject>(
  client: Client<T>,
  { name: id, uid }: ObjectMeta,
  label: string,
): Promise<void> => {
  const [named, labelled] = await Promise.all([
    client.list({ fieldSelector: `metadata.name=${id}` }),
    client.list({ labelSelector: `${label}=${id}` }),
  ])
  const rival = [...named.items, ...labelled.items].find((other) => other.metadata.uid !== uid)
  if (rival === undefined) return
  throw new Error(
    `${objectKey(rival)} has the id ${id} too. Delete the one that the API did not make with kubectl, and adopt again.`,
  )
}

/** Throws if the name is the id of a deleted row, whose resource came back with a restore of the cluster. */
const refuseDeletedRow = async (tx: Transaction, { kind, name }: Finding): Promise<void> => {
  const row = await lockSynced(tx, kind, name)
  if (row === undefined) return
  throw new Error(
    row.deletingAt === null
      ? 'It has a row already.'
      : 'It was deleted over REST. Remove it; a world can be restored then.',
  )
}

/**
 * Returns the metadata of a resource with its id as the name, from which the row gets its id. A name that is an id is that id, as
 * for pull. Labels may be edited with kubectl.
 */
const withId = (kind: Kind, { metadata, ...live }: Identified): ObjectMeta =>
  isId(kind, metadata.name) ? metadata : { ...metadata, name: resourceIdOf(kind, { metadata, ...live }) }

/** Returns the metadata of a world without a project that does not exist, so that it goes to the project "default". */
const withProject = async (
  tx: Transaction,
  kind: Kind,
  { organizationId, metadata }: { organizationId: string; metadata: ObjectMeta },
): Promise<ObjectMeta> => {
  const { [labels.project]: projectId, ...others } = metadata.labels ?? {}
  if (kind !== 'world' || projectId === undefined) return metadata
  return (await lockProject(tx, { organizationId, projectId })) ? metadata : { ...metadata, labels: others }
}

/** The side whose settings a released row continues with. */
export type Kept = 'resource' | 'row'

/**
 * Lets a frozen row continue above the revision of its resource. With the settings of the resource, the row gets its run now
 * and the rest by the next push, under the rules for edits with kubectl. A row that is being deleted keeps its own settings.
 * Throws if the row is not frozen.
 */
export const releaseRow = (deps: RecoveryDeps, finding: Finding, kept: Kept): Promise<void> =>
  adapters[finding.kind]((adapter) => release(adapter, deps, finding, kept))

const release = async <T extends Types>(
  adapter: Adapter<T>,
  deps: RecoveryDeps,
  finding: Finding,
  kept: Kept,
): Promise<void> => {
  const { kind } = adapter
  const live = adapter.read(await adapter.clientOf(deps).get(finding)).resource
  const { metadata, spec } = live
  await deps.db.transaction(async (tx) => {
    const id = await lockFrozen(deps, tx, finding, spec)
    const [row] = await adapter.readPushed(tx, [id])
    if (row === undefined) throw new Error('It has no row.')
    const isRowKept = kept === 'row' || row.deletingAt !== null
    const revision = (spec.revision ?? 0) + (isRowKept ? 1 : 0)
    const run = adapter.runOf(live)
    const columns = isRowKept
      ? { applied: spec, appliedResourceVersion: metadata.resourceVersion ?? null }
      : {
          ...run.columns,
          applied: { ...adapter.toSpec(row), ...run.spec, revision },
          // Without a version on record, the push merges the resource first.
          appliedResourceVersion: null,
        }
    await adapter.update(tx, id, { ...columns, resourceUid: metadata.uid ?? null, revision })
    await markDirty(tx, { kind, id, revision })
    await recordRecovery(deps, tx, `release${kinds[kind].kind}`, row)
  })
}

/** Returns the id of the frozen row, locked. Throws if there is none or if it is not frozen. */
const lockFrozen = async (
  { cluster, namespacePrefix }: RecoveryDeps,
  tx: Transaction,
  { kind, namespace, name, uid }: Finding,
  spec: { readonly revision?: number },
): Promise<string> => {
  const organizationId = organizationOf(namespacePrefix, namespace)
  const id = await findRowId(tx, kind, { organizationId, cluster, name, uid })
  const row = id === undefined ? undefined : await lockSynced(tx, kind, id)
  if (row === undefined || row.organizationId !== organizationId || row.cluster !== cluster)
    throw new Error('It has no row.')
  if ((spec.revision ?? 0) <= row.revision) throw new Error('It is not frozen.')
  return row.id
}
