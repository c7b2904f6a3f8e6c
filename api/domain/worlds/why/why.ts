import { and, count, desc, eq, isNull, sql } from 'drizzle-orm'
import type { Context } from '#api/domain/access/context.ts'
import type { StoredCondition } from '#api/domain/events/conditions.ts'
import { whereReadable } from '#api/domain/worlds/listing/listing.ts'
import { nextActionOf } from '#api/domain/worlds/schedule.ts'
import { type DeploymentRow, deployments, type WorldRow, worlds } from '#api/domain/worlds/table.ts'
import { whereWorld } from '#api/domain/worlds/worlds.ts'
import { runScan } from '#api/platform/database/readPage.ts'
import { optional } from '#api/platform/http/fields.ts'
import { notFound } from '#api/platform/http/problem.ts'
import { isAsleep } from '#shared/domain/idle.ts'
import { findCause, isTrouble } from '#shared/why/cause.ts'
import { explainWorld, maxOthers, type WhyRun } from '#shared/why/why.ts'
import { findLargerProfile, unlessRefused } from './facts.ts'
import type { WhyAnswer } from './schema.ts'

const { name, state, phase, idle, conditions, runtime } = worlds
const shown = { name, state, phase, idle, conditions, runtime, networking: worlds.networking }
const { runId, restarts, exitCode, startedAt, endedAt, networking } = deployments

/** Explains the state of a world in a sentence. Throws a 404 if the scope has none with this id. */
export const explainWorldState = async (ctx: Context, worldId: string): Promise<WhyAnswer> => {
  const [world] = await ctx.db.select(shown).from(worlds).where(whereWorld(ctx, worldId))
  if (world === undefined) throw notFound()
  const [run] = await ctx.db
    .select({ runId, restarts, exitCode, startedAt, endedAt, networking })
    .from(deployments)
    .where(and(eq(deployments.organizationId, ctx.organizationId), eq(deployments.worldId, worldId)))
    .orderBy(desc(deployments.createdAt), desc(deployments.id))
    .limit(1)
  const cause = findCause(world.conditions)
  const others = cause !== undefined && isTrouble(cause) ? await countOthers(ctx, cause) : 0
  const allowed = { limits: ctx.cachedLimits(ctx.organizationId), claims: ctx.principal.claims }
  const larger = run && findLargerProfile(ctx.profiles, { run: profileOf(run), world: profileOf(world) }, allowed)
  const facts = {
    ...world,
    ...optional('run', run && toRun(run)),
    ...(isAsleep(world) && { sleep: { wakesOnAccess: world.runtime.wakeOnAccess === 'Access' } }),
    ...optional('startsAt', nextStartOf(world.runtime, new Date(ctx.clock.now()))),
    ...(larger !== undefined && { largerProfile: larger }),
    ...optional('others', others),
  }
  return { worldId, ...explainWorld(facts, ctx.clock.now()) }
}

/** Returns when the schedule starts a world next. A stop or a restart may come before. */
const nextStartOf = ({ schedule }: WorldRow['runtime'], now: Date): string | undefined => {
  if (schedule?.start === undefined) return undefined
  const { timeZone, start } = schedule
  return nextActionOf({ timeZone, start }, now)?.at
}

type Run = Pick<DeploymentRow, 'runId' | 'restarts' | 'exitCode' | 'startedAt' | 'endedAt' | 'networking'>

const profileOf = <Name extends string>({ networking }: { networking: { scaling: { profile: Name } } }): Name =>
  networking.scaling.profile

const toRun = ({ runId, restarts, exitCode, startedAt, endedAt }: Run): WhyRun => ({
  runId,
  restarts,
  ...optional('exitCode', exitCode),
  ...optional('startedAt', startedAt?.toISOString()),
  ...optional('endedAt', endedAt?.toISOString()),
})

/**
 * Counts the other worlds of the organization that the caller can read and that have an equal condition, up to `maxOthers` + 1, at most
 * 5 s ago. Undefined if too many counts wait: an explanation does not need the number. A count reads the conditions of all worlds of the
 * organization at most, in its turn.
 */
const countOthers = async (ctx: Context, condition: StoredCondition): Promise<number | undefined> => {
  const { type, status, reason } = condition
  const name = [ctx.organizationId, ctx.principal.permissions, type, status, reason]
  const all = await unlessRefused(ctx.recentCounts(name, () => countWith(ctx, { type, status, reason })))
  // The world itself is one of them.
  return all && Math.max(0, all - 1)
}

const countWith = (ctx: Context, condition: Pick<StoredCondition, 'type' | 'status' | 'reason'>): Promise<number> =>
  runScan(ctx, async (tx) => {
    const found = tx
      .select({ id: worlds.id })
      .from(worlds)
      .where(
        and(
          eq(worlds.organizationId, ctx.organizationId),
          whereReadable(ctx),
          isNull(worlds.deletingAt),
          sql`${worlds.conditions} @> ${JSON.stringify([condition])}::jsonb`,
        ),
      )
      .limit(maxOthers + 2)
      .as('found')
    const [row] = await tx.select({ all: count() }).from(found)
    return row?.all ?? 0
  })
