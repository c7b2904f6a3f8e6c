import { and, eq, gt } from 'drizzle-orm'
import type { Context } from '#api/domain/access/context.ts'
import { auditAs } from '#api/domain/endpoint/trail.ts'
import type { EventDraft } from '#api/domain/events/table.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { Problem } from '#api/platform/http/problem.ts'
import { isAsleep } from '#shared/domain/idle.ts'
import { includes } from '#shared/domain/permissions.ts'
import { changeWorld, recordWorldEvents } from './change.ts'
import { wakeRefusedEvent } from './eventDrafts.ts'
import { getWorld } from './lookup.ts'
import type { WokenWorld } from './schema.ts'
import { startWorld } from './start.ts'
import { type WorldRow, worldEvents } from './table.ts'
import { WakerLimited } from './wakeRate.ts'
import { showWaker, wakerOf } from './waker.ts'

type Wake = {
  /** The user for whom the world wakes. See `wakerOf`. */
  readonly wokenBy: string
  /** Decides under the lock of the row. */
  readonly mayWake: (row: WorldRow, tx: Transaction) => boolean | Promise<boolean>
}

/**
 * Starts a run of a world that sleeps, if `mayWake` returns true, and records the wake in the audit trail. Otherwise changes nothing.
 * Throws what `startWorld` throws. An event tells a refusal, at most one an hour.
 */
const wakeSleeping = async (request: Context, worldId: string, { wokenBy, mayWake }: Wake): Promise<void> => {
  const { principal, organizationId } = request
  let isWoken = false
  const about = {
    action: 'wakeWorld',
    resources: [worldId],
    fields: [],
    // Another organization chose the id, and nobody here knows it.
    ...([undefined, organizationId].includes(principal.organizationId) ? {} : { actor: { ...principal, id: '' } }),
    // A transaction that changes nothing leaves no record.
    isRecorded: () => !isWoken,
  }
  const needs = async (row: WorldRow, tx: Transaction): Promise<boolean> => {
    isWoken = isAsleep(row) && (await mayWake(row, tx))
    return isWoken
  }
  const run = async (): Promise<void> => {
    try {
      await startWorld(auditAs(request, about), worldId, { needs, wokenBy })
    } catch (error) {
      if (error instanceof Problem && error.status < 500 && !['not_found', 'rate_limited'].includes(error.code)) {
        await recordRefusal(request, worldId, wakeRefusedEvent(showWaker(wokenBy, organizationId), error.message))
      }
      throw error
    }
  }
  // The platform key has no rates, so no refusal of others stands for its own.
  if (principal.kind === 'platform') return run()
  await request.wakeGate({ subject: worldId, caller: wokenBy, run, refusedBy })
}

const refusedBy = (error: unknown): 'subject' | 'caller' | undefined => {
  if (!(error instanceof Problem) || error.status >= 500) return undefined
  return error instanceof WakerLimited ? 'caller' : 'subject'
}

/**
 * Wakes a world that sleeps, and returns its phase and, once there is one, its address. A world in another state stays as it is.
 * Throws a 403 if `wakeOnAccess` is Never and the caller may not start the world.
 */
export const wakeWorld = async (ctx: Context, worldId: string): Promise<WokenWorld> => {
  const before = await getWorld(ctx, worldId)
  const mayWake = ({ runtime }: Pick<WorldRow, 'runtime'>): boolean =>
    runtime.wakeOnAccess === 'Access' || includes(ctx.verb ?? 'r', 'w')
  // The row lock decides. Most requests find a world that runs, and lock nothing.
  const isStopped = isAsleep({ state: 'Running', idle: undefined, ...before.body.status })
  if (isStopped) {
    if (!mayWake(before.body)) throw new Problem('forbidden', neverMessage)
    await wakeSleeping(ctx, worldId, { wokenBy: wakerOf(ctx.principal, ctx.principal.id), mayWake })
  }
  const { body } = isStopped ? await getWorld(ctx, worldId) : before
  const { phase, address, addresses, strategy } = body.status
  return { phase, ...(address && { address }), ...(addresses && { addresses }), ...(strategy && { strategy }) }
}

const neverMessage =
  'The world sleeps, and runtime.wakeOnAccess is Never. Set it to Access, or use a credential with the verb w on the world.'

/** Wakes a world that sleeps for a user who enters it. Returns the refusal of the start, if there is one. */
export const wakeForUser = async (ctx: Context, worldId: string, wake: Wake): Promise<Problem | undefined> => {
  try {
    await wakeSleeping(ctx, worldId, wake)
    return undefined
  } catch (error) {
    if (error instanceof Problem && error.status < 500) return error
    throw error
  }
}

/** The time for which an event about a refusal stands for the next ones. Callers repeat their checks, and a world keeps 100 events. */
const refusalEventMs = 3_600_000

const recordRefusal = async (ctx: Context, worldId: string, event: EventDraft): Promise<void> => {
  try {
    await changeWorld(ctx, worldId, async (tx, row, made) => {
      const [recent] = await tx
        .select({ id: worldEvents.id })
        .from(worldEvents)
        .where(
          and(
            eq(worldEvents.worldId, worldId),
            eq(worldEvents.reason, event.reason),
            gt(worldEvents.createdAt, new Date(made.now.getTime() - refusalEventMs)),
          ),
        )
        .limit(1)
      if (recent === undefined) await recordWorldEvents(tx, { ...row, worldId }, [event], made)
    })
  } catch (error) {
    // The world was deleted meanwhile.
    if (!(error instanceof Problem) || error.status !== 404) throw error
  }
}
