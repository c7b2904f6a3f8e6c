import { and, eq, isNull, ne, sql } from 'drizzle-orm'
import { checkDeploymentCount, markBotDeploymentDeleting, recordBotEvents } from '#api/domain/bots/bots.ts'
import { observedEvents } from '#api/domain/bots/eventDrafts.ts'
import { countLiveBots, sumBots } from '#api/domain/bots/live.ts'
import { type BotRow, botDeployments } from '#api/domain/bots/table.ts'
import { lockLimits } from '#api/domain/organizations/organizations.ts'
import { newRow } from '#api/domain/worlds/create.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { prepared } from '#api/platform/database/prepared.ts'
import { isDirty, markAllDirty } from '#api/platform/outbox/outbox.ts'
import { type BotFacts, type ObservedBots, observeBots, sidesOfBots, toBotColumns } from '#api/sync/merge/bots.ts'
import { hasEdits } from '#api/sync/merge/merge.ts'
import { hasChanges } from '#api/sync/merge/observe.ts'
import { desiredBotSpec } from '#api/sync/rows/desired.ts'
import { explainBotSize } from '#shared/domain/bots.ts'
import { type BotDeployment, type BotDeploymentSpec, readBots } from '#shared/resources/botDeployment.ts'
import { labels } from '#shared/resources/group.ts'
import { defaultScalingProfile, type ScalingProfile } from '#shared/scalingProfiles.ts'
import type { Adapter, NewResource, NewRowDeps, ReconcileDeps } from './kind.ts'
import { NotAdopted } from './newResource.ts'

type BotTypes = {
  readonly live: BotDeployment
  readonly row: BotRow
  readonly pushed: BotRow
  readonly spec: BotDeploymentSpec
  readonly intent: { readonly columns: Partial<BotRow> }
  readonly facts: BotFacts
  readonly edit: BotDeploymentSpec
  readonly state: ObservedBots
}

/** The adapter of BotDeployments. */
export const botAdapter: Adapter<BotTypes> = {
  kind: 'bot',
  clientOf: ({ clients }) => clients.bot,
  readPushed: (db, ids) => pushedQuery(db).execute({ ids }),
  toSpec: desiredBotSpec,
  labelsOf: ({ worldName, worldId }) => ({ [labels.world]: worldName, [labels.worldId]: worldId }),
  isStatusIgnored: (_, { status }) => status === undefined,
  read: readBots,
  lock: async (tx, id, see) => {
    const known = await findBots(tx, id)
    const sides = known && sidesOfBots(known, see())
    // REST locks in this order too.
    if (sides !== undefined && hasEdits(sides)) await lockWorldOf(tx, known?.worldId ?? '')
    const [row, isMarked] = await Promise.all([findBots(tx, id, 'update'), isDirty(tx, 'bot', id)])
    return row && { row, isDirty: isMarked }
  },
  insert: (...made) => insertNewBots(...made),
  toNew: async (deps, tx, row, live) => {
    // The row takes the size over, so that the merge that follows finds no edit of it.
    const excess = explainBotSize(row, await readProfile(deps, tx, row.worldId))
    if (excess !== undefined) throw new NotAdopted('LimitReached', excess)
    return live
  },
  runOf: () => ({ columns: {}, spec: {} }),
  update: (tx, id, columns) => tx.update(botDeployments).set(columns).where(eq(botDeployments.id, id)),
  markDeleting: (tx, { id }, deletion) => markBotDeploymentDeleting(tx, eq(botDeployments.id, id), deletion),
  move: { holder: 'its bots', findTarget: (db, { id }) => recordTarget(db, id) },
  sidesOf: sidesOfBots,
  readFacts: (deps, tx, row) => readFacts(deps, tx, row),
  observe: observeBots,
  toIntent: async (_, __, ___, { edit }) => ({ columns: toBotColumns(edit) }),
  deletionOf: ({ clock }) => ({ intent: { columns: { deletingAt: new Date(clock.now()) } }, change: 'deletion' }),
  toBase: ({ spec }) => spec,
  write: async (deps, tx, { row, live, now }, { common, intent, state: { observed } }) => {
    const changed = { ...observed, ...intent?.columns, ...common }
    const { status = {} } = live
    const drafts = observed === undefined ? [] : observedEvents(row, { ...row, ...observed }, status)
    // One round trip.
    await Promise.all([
      hasChanges(row, changed) && tx.update(botDeployments).set(changed).where(eq(botDeployments.id, row.id)),
      recordBotEvents(tx, { ...row, botDeploymentId: row.id, runId: status.run?.id ?? null }, drafts, {
        now,
        newId: deps.newId,
      }),
    ])
  },
  worldIdOf: ({ worldId }) => worldId,
}

const pushedQuery = prepared((db) =>
  db
    .select()
    .from(botDeployments)
    .where(sql`${botDeployments.id} = any(${sql.placeholder('ids')})`)
    .prepare('pushed_bots'),
)

/** Returns the row, or undefined if it does not exist. */
const findBots = async (tx: Transaction, id: string, lock?: 'update'): Promise<BotRow | undefined> => {
  const query = tx.select().from(botDeployments).where(eq(botDeployments.id, id))
  const [row] = await (lock === undefined ? query : query.for(lock)).execute()
  return row
}

/** Locks the world of a bot deployment, so that concurrent changes count each other's bots. */
const lockWorldOf = async (tx: Transaction, id: string): Promise<void> => {
  await tx.select({ id: worlds.id }).from(worlds).where(eq(worlds.id, id)).for('no key update')
}

const readProfile = async ({ profiles }: ReconcileDeps, tx: Transaction, worldId: string): Promise<ScalingProfile> => {
  const [world] = await tx.select({ networking: worlds.networking }).from(worlds).where(eq(worlds.id, worldId))
  return profiles[world?.networking.scaling.profile ?? defaultScalingProfile]
}

/** Reads what the rules for edits depend on. It locks the organization's row, after the world's. */
const readFacts = async (deps: ReconcileDeps, tx: Transaction, row: BotRow): Promise<BotFacts> => {
  const { id, organizationId, worldId } = row
  const limits = await lockLimits({ organizationId, defaultLimits: deps.defaultLimits }, tx)
  return {
    otherBots: await countLiveBots(tx, worldId, id),
    profile: await readProfile(deps, tx, worldId),
    otherUse: await sumBots(tx, { organizationId, except: id }),
    limits,
  }
}

/**
 * Adds the row of a BotDeployment that kubectl created, with no bots: the merge that follows checks and takes over the count, and
 * stores the base. Throws `NotAdopted`, or a `Problem` at a limit.
 */
const insertNewBots = async (
  deps: NewRowDeps,
  tx: Transaction,
  { organizationId, metadata, spec }: NewResource<BotTypes>,
): Promise<BotRow> => {
  const now = new Date(deps.clock.now())
  const [world] = await tx
    .select()
    .from(worlds)
    .where(
      and(
        eq(worlds.organizationId, organizationId),
        eq(worlds.cluster, deps.cluster),
        eq(worlds.resourceName, spec.worldName),
        isNull(worlds.deletingAt),
      ),
    )
    .for('no key update')
  if (world === undefined) {
    throw new NotAdopted(
      'WorldNotFound',
      `The World ${spec.worldName} has not been adopted by the API. Its bots wait until it is.`,
    )
  }
  const limits = await lockLimits({ organizationId, defaultLimits: deps.defaultLimits }, tx)
  await checkDeploymentCount({ organizationId }, tx, world.id, limits)
  const [row] = await tx
    .insert(botDeployments)
    .values({
      ...newRow('bot', { ...deps, organizationId, projectId: world.projectId, cluster: world.cluster, now, metadata }),
      worldId: world.id,
      worldName: spec.worldName,
      ...toBotColumns({ ...spec, count: 0 }),
    })
    .returning()
  if (row === undefined) throw new Error('Postgres returned no row.')
  const { revision: _, granted: __, ...applied } = desiredBotSpec(row)
  return { ...row, applied }
}

/**
 * Returns the cluster that bots move to, and records it first. Returns null if they stay, and 'later' if they have arrived
 * before their world.
 */
const recordTarget = async (db: Database, id: string): Promise<string | 'later' | null> => {
  const [row] = await db
    .select({
      cluster: botDeployments.cluster,
      targetCluster: botDeployments.targetCluster,
      worldCluster: worlds.cluster,
      worldTarget: worlds.targetCluster,
    })
    .from(botDeployments)
    .innerJoin(worlds, eq(worlds.id, botDeployments.worldId))
    .where(eq(botDeployments.id, id))
  if (row === undefined) return null
  const wanted = row.worldTarget ?? row.worldCluster
  if (row.targetCluster === null && wanted === row.cluster) return row.worldCluster === row.cluster ? null : 'later'
  if (row.targetCluster !== wanted) {
    await db.update(botDeployments).set({ targetCluster: wanted }).where(eq(botDeployments.id, id))
  }
  return wanted
}

/** Marks the bots of a world dirty that are neither in a cluster nor on their way to it. */
export const markBotsElsewhere = async (db: Database, worldId: string, cluster: string): Promise<void> =>
  db.transaction(async (tx) => {
    const isOnItsWay = sql`${botDeployments.targetCluster} is not distinct from ${cluster}`
    const others = await selectBots(tx, worldId, and(ne(botDeployments.cluster, cluster), sql`not (${isOnItsWay})`))
    await markAllDirty(tx, 'bot', others)
  })

const selectBots = (tx: Transaction, worldId: string, more?: ReturnType<typeof and>) =>
  tx
    .select({ id: botDeployments.id, revision: botDeployments.revision })
    .from(botDeployments)
    .where(and(eq(botDeployments.worldId, worldId), isNull(botDeployments.removedAt), more))

/** Gives the bots of a moved world its new name, and marks all of them dirty. */
export const renameWorldOfBots = async (tx: Transaction, worldId: string): Promise<void> => {
  await tx
    .update(botDeployments)
    .set({ worldName: worldId, revision: sql`${botDeployments.revision} + 1` })
    .where(and(eq(botDeployments.worldId, worldId), ne(botDeployments.worldName, worldId)))
  await markAllDirty(tx, 'bot', await selectBots(tx, worldId))
}
