import { and, count, eq, getTableColumns, isNull, type SQL, sql } from 'drizzle-orm'
import type { Context, LockRevision } from '#api/domain/access/context.ts'
import type { Limits } from '#api/domain/access/limits.ts'
import { presentConditions } from '#api/domain/events/conditions.ts'
import { createEvents } from '#api/domain/events/events.ts'
import { lockLimits } from '#api/domain/organizations/organizations.ts'
import { newRow } from '#api/domain/worlds/create.ts'
import { type WorldRow, worlds } from '#api/domain/worlds/table.ts'
import { whereWorld } from '#api/domain/worlds/worlds.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { listOrder, whereAfterCursor } from '#api/platform/database/page.ts'
import { readPage } from '#api/platform/database/readPage.ts'
import { optional } from '#api/platform/http/fields.ts'
import { type Page, type Paged, toPaged } from '#api/platform/http/page.ts'
import { found, notFound, Problem } from '#api/platform/http/problem.ts'
import { createOnce } from '#api/platform/idempotency/once.ts'
import { markDirty } from '#api/platform/outbox/outbox.ts'
import { type BotSize, explainBotSize, isLargerBot } from '#shared/domain/bots.ts'
import { explainBotUse, noBotUse, useOfBots } from '#shared/domain/botUse.ts'
import { countLiveBots, sumBots } from './live.ts'
import type { BotsAnswer, CreateBots, PatchBots } from './schema.ts'
import { type BotRow, botDeployments, botEvents } from './table.ts'

/** The maximum number of bot deployments of a world. */
const maxPerWorld = 64

const { applied: _, refusal: __, pushRefusal: ___, ...botColumns } = getTableColumns(botDeployments)
/** The columns that a response shows: those of the bot deployment, and two of its world. */
const shownColumns = { bots: botColumns, world: { startedAt: worlds.startedAt, compute: worlds.compute } }
const withWorld = { from: botDeployments, join: [worlds, eq(worlds.id, botDeployments.worldId)] } as const

type ShownBots = Pick<BotRow, keyof typeof botColumns>
type BotsKey = { worldId: string; botDeploymentId: string }

/** The events of bot deployments. See `createEvents`. */
export const { record: recordBotEvents, list: listBotEvents } = createEvents(botEvents, botEvents.botDeploymentId, true)

/** Creates a bot deployment. Its bots run while the world's phase is Active. Throws a 409 at a limit. */
export const createBots = async (
  ctx: Context,
  { worldId, ...input }: CreateBots & { worldId: string },
): Promise<{ botDeploymentId: string }> => {
  const created = await createOnce(ctx, async (tx, now) => {
    const world = await lockWorld(ctx, tx, worldId)
    await checkBotCount(tx, world, input.count)
    checkBotSize(ctx, world, input)
    const limits = await lockLimits(ctx, tx)
    await checkDeploymentCount(ctx, tx, worldId, limits)
    await checkBotUse(ctx, tx, limits, input)
    const row = newRow('bot', { ...ctx, cluster: world.targetCluster ?? world.cluster, now })
    await tx.insert(botDeployments).values({ ...row, worldId, worldName: world.resourceName, ...input })
    await markDirty(tx, { kind: 'bot', id: row.id, revision: 1, traceparent: ctx.traceparent })
    return { botDeploymentId: row.id }
  })
  ctx.wakeSync()
  return created
}

/** Lists the bot deployments of a world, oldest first. */
export const listBots = async (ctx: Context, worldId: string, page: Page): Promise<Paged<BotsAnswer>> => {
  const { rows, hasMore } = await readPage(ctx, shownColumns, {
    ...withWorld,
    where: and(whereBotsOfWorld(ctx, worldId), whereAfterCursor(botDeployments, page)),
    orderBy: listOrder(botDeployments),
    limit: page.limit,
  })
  const { organizationId, projectId } = ctx
  if (rows.length === 0 && !(await ctx.scopeExists('world', { organizationId, projectId, worldId }))) throw notFound()
  const keyed = rows.map((row) => ({ ...row, id: row.bots.id, createdAt: row.bots.createdAt }))
  const { items, ...next } = toPaged({ rows: keyed, hasMore })
  return { ...next, items: items.map(({ bots, world }) => toBotsAnswer(bots, world)) }
}

/** Reads one bot deployment. */
export const getBots = async (ctx: Context, key: BotsKey) => {
  const [row] = await ctx.db
    .select(shownColumns)
    .from(withWorld.from)
    .innerJoin(...withWorld.join)
    .where(whereBots(ctx, key))
  if (row === undefined) throw notFound()
  return { body: toBotsAnswer(row.bots, row.world), revision: row.bots.revision }
}

/** Locks the bot deployment of the path, after its world, and returns its revision. */
export const lockBotsRevision: LockRevision = async (tx, ctx, { worldId = '', botDeploymentId = '' }) => {
  await lockWorld(ctx, tx, worldId)
  const { revision } = botDeployments
  const where = whereBots(ctx, { worldId, botDeploymentId })
  const [row] = await tx.select({ revision }).from(botDeployments).where(where).for('update')
  return row?.revision
}

/** Changes a bot deployment. Absent fields stay. Throws a 409 at a limit, unless the use stays or shrinks. */
export const patchBots = async (ctx: Context, { changes, ...key }: BotsKey & { changes: PatchBots }): Promise<void> => {
  const now = new Date(ctx.clock.now())
  await ctx.db.transaction(async (tx) => {
    const world = await lockWorld(ctx, tx, key.worldId)
    const row = found(await tx.select().from(botDeployments).where(whereBots(ctx, key)).for('update'))
    await checkBotCount(tx, world, changes.count, row)
    const { count, cpu = row.cpu, memory = row.memory } = changes
    const isLarger = isLargerBot({ cpu, memory }, row)
    if (isLarger) checkBotSize(ctx, world, { cpu, memory })
    if (isLarger || count > row.count) {
      await checkBotUse(ctx, tx, await lockLimits(ctx, tx), { count, cpu, memory }, row)
    }
    const revision = row.revision + 1
    await tx
      .update(botDeployments)
      .set({ ...changes, revision, updatedAt: now })
      .where(eq(botDeployments.id, row.id))
    await markDirty(tx, { kind: 'bot', id: row.id, revision, traceparent: ctx.traceparent })
  })
  ctx.wakeSync()
}

/** Deletes a bot deployment. No response shows it from now on; its row is removed after its resource. */
export const deleteBots = async (ctx: Context, key: BotsKey): Promise<void> => {
  const { traceparent } = ctx
  const deletingAt = new Date(ctx.clock.now())
  await ctx.db.transaction(async (tx) => {
    if (!(await markBotDeploymentDeleting(tx, whereBots(ctx, key), { deletingAt, traceparent }))) throw notFound()
  })
  ctx.wakeSync()
}

/** Marks the bot deployment of a condition as deleting and dirty. Returns false if there is none. */
export const markBotDeploymentDeleting = async (
  tx: Transaction,
  where: SQL | undefined,
  { deletingAt, traceparent }: { deletingAt: Date; traceparent?: string | undefined },
): Promise<boolean> => {
  const [row] = await tx
    .update(botDeployments)
    .set({ deletingAt, revision: sql`${botDeployments.revision} + 1`, updatedAt: deletingAt })
    .where(where)
    .returning({ id: botDeployments.id, revision: botDeployments.revision })
  if (row !== undefined) await markDirty(tx, { kind: 'bot', ...row, traceparent })
  return row !== undefined
}

/** Reports whether the world has this bot deployment. */
export const botsExist = async (ctx: Context, key: BotsKey): Promise<boolean> =>
  (await ctx.db.select({ id: botDeployments.id }).from(botDeployments).where(whereBots(ctx, key))).length > 0

const whereBotsOfWorld = (ctx: Context, worldId: string) =>
  and(
    eq(botDeployments.organizationId, ctx.organizationId),
    eq(botDeployments.projectId, ctx.projectId),
    eq(botDeployments.worldId, worldId),
    isNull(botDeployments.deletingAt),
  )

/** Selects a bot deployment of the scope that is not deleted. */
export const whereBots = (ctx: Context, { worldId, botDeploymentId }: BotsKey) =>
  and(whereBotsOfWorld(ctx, worldId), eq(botDeployments.id, botDeploymentId))

/**
 * Reads a world and locks its row, so that concurrent changes count each other's bots. Throws a 404 if it is absent.
 */
const lockWorld = async (ctx: Context, tx: Transaction, worldId: string): Promise<WorldRow> =>
  found(await tx.select().from(worlds).where(whereWorld(ctx, worldId)).for('no key update'))

/**
 * Throws a 409 if the world would have more bots than its scaling profile allows. Pending bot deployments count too.
 * `before` is the bot deployment that changes; it may always shrink.
 */
const checkBotCount = async (tx: Transaction, world: WorldRow, count: number, before?: BotRow): Promise<void> => {
  if (count <= (before?.count ?? 0)) return
  const wanted = (await countLiveBots(tx, world.id, before?.id)) + count
  if (wanted > world.estimatedCapacity) {
    const allowed = world.estimatedCapacity
    const detail = `The world would have ${wanted} bots, but its scaling profile allows ${allowed}. Lower the count.`
    throw new Problem('limit_reached', detail)
  }
}

/** Throws a 403 if a bot would be larger than the scaling profile of its world. */
export const checkBotSize = (
  { profiles }: Pick<Context, 'profiles'>,
  { networking }: Pick<WorldRow, 'networking'>,
  size: BotSize,
): void => {
  const excess = explainBotSize(size, profiles[networking.scaling.profile])
  if (excess !== undefined) throw new Problem('size_not_allowed', excess)
}

type Bots = BotSize & { readonly count: number }

/**
 * Throws a 409 if the bots of the organization would exceed its maxBotCpu or maxBotMemory. The organization's row must be
 * locked. `before` is the bot deployment that changes.
 */
const checkBotUse = async (
  { organizationId }: Pick<Context, 'organizationId'>,
  tx: Transaction,
  limits: Limits,
  bots: Bots,
  before?: BotRow,
): Promise<void> => {
  const use = {
    own: useOfBots(bots, bots.count),
    before: before === undefined ? noBotUse : useOfBots(before, before.count),
    others: await sumBots(tx, { organizationId, ...optional('except', before?.id) }),
  }
  const excess = explainBotUse(use, limits)
  if (excess !== undefined) throw new Problem('limit_reached', excess)
}

/** Throws a 409 if the world or its organization has its maximum of bot deployments. The world's row must be locked. */
export const checkDeploymentCount = async (
  ctx: Pick<Context, 'organizationId'>,
  tx: Transaction,
  worldId: string,
  { maxBotDeployments }: Pick<Limits, 'maxBotDeployments'>,
): Promise<void> => {
  const [existing] = await tx
    .select({ all: count(), inWorld: sql<number>`count(*) filter (where ${botDeployments.worldId} = ${worldId})::int` })
    .from(botDeployments)
    .where(and(eq(botDeployments.organizationId, ctx.organizationId), isNull(botDeployments.deletingAt)))
  if ((existing?.inWorld ?? 0) >= maxPerWorld) {
    throw new Problem(
      'limit_reached',
      `The world has ${maxPerWorld} bot deployments, which is the maximum. Delete one first.`,
    )
  }
  if ((existing?.all ?? 0) >= maxBotDeployments) {
    throw new Problem(
      'limit_reached',
      `The organization has ${maxBotDeployments} bot deployments, which is its limit (maxBotDeployments). ` +
        'Delete one first.',
    )
  }
}

const toBotsAnswer = (row: ShownBots, world: Pick<WorldRow, 'startedAt' | 'compute'>): BotsAnswer => ({
  documentId: row.id,
  description: row.description,
  configuration: {
    count: row.count,
    cpu: row.cpu,
    memory: row.memory,
    args: row.args,
    ...optional('durationMinutes', row.durationMinutes),
  },
  status: {
    phase: row.phase,
    message: row.statusMessage,
    ...optional('startedAt', row.startedAt?.getTime()),
    ...optional('worldStartedAt', world.startedAt?.toISOString()),
    cluster: { name: row.cluster, computeGroup: world.compute.group },
    conditions: presentConditions(row.conditions, true),
  },
  metadata: row.metadata,
  organizationId: row.organizationId,
  projectId: row.projectId,
  worldId: row.worldId,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
})
