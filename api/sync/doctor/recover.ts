import { eq } from 'drizzle-orm'
import { type BotRow, botDeployments } from '#api/domain/bots/table.ts'
import type { FindingRow } from '#api/domain/clusters/table.ts'
import { lockProject } from '#api/domain/projects/projects.ts'
import { type WorldRow, worlds } from '#api/domain/worlds/table.ts'
import { type CommandAuthor, recordCommand } from '#api/platform/audit/records.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { markDirty } from '#api/platform/outbox/outbox.ts'
import { readObject } from '#api/sync/clusters/deletionCause.ts'
import { insertNewBots } from '#api/sync/reconcile/bots.ts'
import type { NewResourceDeps } from '#api/sync/reconcile/kind.ts'
import { NotAdopted } from '#api/sync/reconcile/newResource.ts'
import { insertNewWorld } from '#api/sync/reconcile/world.ts'
import { desiredBotSpec, desiredSpec } from '#api/sync/rows/desired.ts'
import { organizationOf } from '#api/sync/rows/identity.ts'
import { findRowId, lockSynced, readOwner, type SyncedRow } from '#api/sync/rows/synced.ts'
import { plainSettings, runtimeSettings } from '#shared/domain/world.ts'
import { isId } from '#shared/ids.ts'
import type { Client } from '#shared/kube/client.ts'
import { type KubeObject, type ObjectMeta, objectKey } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { kinds, labels } from '#shared/resources/group.ts'
import { readBots, readWorld } from '#shared/resources/read.ts'
import { botDeploymentIdOf, worldIdOf } from '#shared/resources/resourceId.ts'
import type { CapturedRun, World } from '#shared/resources/world.ts'
import { restoreOrganization } from './lostOrganization.ts'

/** The dependencies of a recovery. */
export type RecoveryDeps = NewResourceDeps &
  CommandAuthor & {
    readonly db: Database
    readonly namespacePrefix: string
    readonly worlds: Client<World>
    readonly bots: Client<BotDeployment>
    readonly namespaces: Client<KubeObject>
  }

/** A finding whose resource is to be brought together with a row. */
export type Finding = Pick<FindingRow, 'kind' | 'namespace' | 'name' | 'uid'>

const clientOf = (deps: RecoveryDeps, { kind }: Finding) => (kind === 'world' ? deps.worlds : deps.bots)

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
  { kind }: Finding,
  {
    action,
    row,
  }: { action: 'adopt' | 'remove' | 'release'; row: { id: string; organizationId: string; projectId?: string } },
): Promise<void> =>
  recordCommand(deps, tx, {
    action: `${action}${kinds[kind].kind}`,
    resources: [row.id],
    organizationId: row.organizationId,
    ...withDefined({ projectId: row.projectId }),
  })

/** Deletes an orphan. The API then removes its finalizer. Throws if it may belong to the organization of another API. */
export const removeOrphan = async (deps: RecoveryDeps, finding: Finding): Promise<void> => {
  const { namespace, name, uid } = finding
  const organizationId = organizationOf(deps.namespacePrefix, namespace)
  if (organizationId === undefined || (await readOwner(deps.db, organizationId)) === 'unknown') {
    throw new Error('Its organization has no row. Adopt it, and delete the organization over REST.')
  }
  await deps.db.transaction(async (tx) => {
    await recordRecovery(deps, tx, finding, { action: 'remove', row: { id: name, organizationId } })
    await clientOf(deps, finding).delete({ namespace, name }, { uid })
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
  const world = finding.kind === 'world' ? readWorld(await readLive(deps.worlds, finding)).resource : undefined
  const bots = finding.kind === 'bot' ? readBots(await readLive(deps.bots, finding)).resource : undefined
  if (world !== undefined) await requireOnlyClaim(deps.worlds, withWorldId(world), labels.worldId)
  if (bots !== undefined) await requireOnlyClaim(deps.bots, withBotsId(bots), labels.botDeploymentId)
  try {
    await deps.db.transaction(async (tx) => {
      if ((await findRowId(tx, finding.kind, { ...finding, organizationId, cluster: deps.cluster })) !== undefined) {
        await refuseDeletedRow(tx, finding)
      }
      if (world !== undefined) {
        const row = await adoptWorld(deps, tx, organizationId, world)
        await recordRecovery(deps, tx, finding, { action: 'adopt', row })
      }
      if (bots !== undefined) {
        const row = await adoptBots(deps, tx, organizationId, bots)
        await recordRecovery(deps, tx, finding, { action: 'adopt', row })
      }
    })
  } catch (error) {
    if (error instanceof NotAdopted) throw new Error(error.state.message)
    throw error
  }
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

const adoptWorld = async (
  deps: RecoveryDeps,
  tx: Transaction,
  organizationId: string,
  world: World,
): Promise<WorldRow> => {
  const { metadata, spec } = world
  const row = await insertNewWorld(deps, tx, {
    organizationId,
    metadata: await withProject(tx, organizationId, withWorldId(world)),
    spec,
  })
  const { id, applied } = row
  const run = runOf(world)
  const adopted = { revision: spec.revision ?? row.revision, resourceName: metadata.name, ...run.columns }
  await tx
    .update(worlds)
    // The base has the run, which no edit may change; all else that differs from the defaults is adopted.
    .set({ ...adopted, applied: applied && { ...applied, ...run.spec, ...revisionOf(spec) } })
    .where(eq(worlds.id, id))
  await markDirty(tx, { kind: 'world', id, revision: adopted.revision })
  return row
}

const adoptBots = async (
  deps: RecoveryDeps,
  tx: Transaction,
  organizationId: string,
  bots: BotDeployment,
): Promise<BotRow> => {
  const { metadata, spec } = bots
  const row = await insertNewBots(deps, tx, { organizationId, metadata: withBotsId(bots), spec })
  const { id, applied } = row
  const revision = spec.revision ?? row.revision
  await tx
    .update(botDeployments)
    .set({ revision, resourceName: metadata.name, applied: applied && { ...applied, ...revisionOf(spec) } })
    .where(eq(botDeployments.id, id))
  await markDirty(tx, { kind: 'bot', id, revision })
  return row
}

/**
 * Returns the metadata of a World with its id as the name, from which the row gets its id. A name that is an id is that id, as
 * for pull. Labels may be edited with kubectl.
 */
const withWorldId = ({ metadata, ...world }: World): ObjectMeta =>
  isId('world', metadata.name) ? metadata : { ...metadata, name: worldIdOf({ metadata, ...world }) }

/** Returns the metadata of a BotDeployment with its id as the name, like that of a World. */
const withBotsId = ({ metadata, ...bots }: BotDeployment): ObjectMeta =>
  isId('bot', metadata.name) ? metadata : { ...metadata, name: botDeploymentIdOf({ metadata, ...bots }) }

/** Returns the metadata without a project that does not exist, so that the world goes to the project "default". */
const withProject = async (tx: Transaction, organizationId: string, metadata: ObjectMeta): Promise<ObjectMeta> => {
  const { [labels.project]: projectId, ...others } = metadata.labels ?? {}
  const exists = projectId !== undefined && (await lockProject(tx, { organizationId, projectId }))
  return exists ? metadata : { ...metadata, labels: others }
}

const revisionOf = ({ revision }: { readonly revision?: number }) => withDefined({ revision })

/** Returns the state and run of a World, as columns and as a part of a spec. */
const runOf = ({ spec, status }: Pick<World, 'spec' | 'status'>) => {
  const { state, runId, startedAt, granted, compute } = spec
  const captured = [granted, status?.run].find((run) => run !== undefined && run.id === runId)
  return {
    columns: {
      state,
      runId: runId ?? null,
      startedAt: startedAt === undefined ? null : new Date(startedAt),
      granted: captured === undefined ? null : toCaptured({ compute, ...captured }),
    },
    spec: withDefined({ state, runId, startedAt }),
  }
}

/** Returns the part of a run that the API fixed at its start. A run of an operator alone has it in its status. */
const toCaptured = (run: CapturedRun): CapturedRun => {
  const { id, startedAt, image, contentId, profile, capacity, probes, args, strategy, compute } = run
  const settings = { ...runtimeSettings.parse(run), ...plainSettings.parse(run) }
  return {
    id,
    startedAt,
    profile,
    ...settings,
    capacity,
    probes,
    args,
    strategy,
    compute,
    ...withDefined({ image, contentId }),
  }
}

/** The side whose settings a released row continues with. */
export type Kept = 'resource' | 'row'

/**
 * Lets a frozen row continue above the revision of its resource. With the settings of the resource, the row gets its run now
 * and the rest by the next push, under the rules for edits with kubectl. A row that is being deleted keeps its own settings.
 * Throws if the row is not frozen.
 */
export const releaseRow = async (deps: RecoveryDeps, finding: Finding, kept: Kept): Promise<void> => {
  if (finding.kind === 'world') await releaseWorld(deps, finding, kept)
  else await releaseBots(deps, finding, kept)
}

const releaseWorld = async (deps: RecoveryDeps, finding: Finding, kept: Kept): Promise<void> => {
  const { metadata, spec, status } = readWorld(await deps.worlds.get(finding)).resource
  await deps.db.transaction(async (tx) => {
    const id = await lockFrozen(deps, tx, finding, spec)
    const [row] = await tx.select().from(worlds).where(eq(worlds.id, id))
    if (row === undefined) throw new Error('It has no row.')
    const { revision, ...recorded } = continueAt(row, { metadata, spec }, kept)
    const run = runOf({ spec, ...withDefined({ status }) })
    const settings =
      revision > (spec.revision ?? 0)
        ? { applied: spec }
        : { ...run.columns, applied: { ...desiredSpec(row), ...run.spec, revision } }
    await tx
      .update(worlds)
      .set({ ...recorded, ...settings, revision })
      .where(eq(worlds.id, id))
    await markDirty(tx, { kind: 'world', id, revision })
    await recordRecovery(deps, tx, finding, { action: 'release', row })
  })
}

const releaseBots = async (deps: RecoveryDeps, finding: Finding, kept: Kept): Promise<void> => {
  const { metadata, spec } = readBots(await deps.bots.get(finding)).resource
  await deps.db.transaction(async (tx) => {
    const id = await lockFrozen(deps, tx, finding, spec)
    const [row] = await tx.select().from(botDeployments).where(eq(botDeployments.id, id))
    if (row === undefined) throw new Error('It has no row.')
    const { revision, ...recorded } = continueAt(row, { metadata, spec }, kept)
    const applied = revision > (spec.revision ?? 0) ? spec : { ...desiredBotSpec(row), revision }
    await tx
      .update(botDeployments)
      .set({ ...recorded, applied, revision })
      .where(eq(botDeployments.id, id))
    await markDirty(tx, { kind: 'bot', id, revision })
    await recordRecovery(deps, tx, finding, { action: 'release', row })
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

/** Returns the columns with which a row continues: at the revision of the resource if it takes its settings, or above it. */
const continueAt = (
  { deletingAt }: Pick<SyncedRow, 'deletingAt'>,
  { metadata, spec }: { metadata: ObjectMeta; spec: { readonly revision?: number } },
  kept: Kept,
) => {
  const [resourceUid, revision] = [metadata.uid ?? null, spec.revision ?? 0]
  return kept === 'row' || deletingAt !== null
    ? { resourceUid, revision: revision + 1, appliedResourceVersion: metadata.resourceVersion ?? null }
    : // Without a version on record, the push merges the resource first.
      { resourceUid, revision, appliedResourceVersion: null }
}
