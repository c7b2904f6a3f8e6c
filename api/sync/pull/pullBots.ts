import { eq, sql } from 'drizzle-orm'
import { observedEvents } from '#api/domain/bots/events/changes.ts'
import { recordBotEvents } from '#api/domain/bots/events/service.ts'
import { countLiveBots, sumBots } from '#api/domain/bots/live/service.ts'
import { type BotRow, botDeployments } from '#api/domain/bots/table.ts'
import { lockLimits } from '#api/domain/organizations/service.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { isDirty, markDirty } from '#api/platform/outbox/outbox.ts'
import { type BotFacts, toBotColumns } from '#api/sync/merge/adoptBots.ts'
import { versionsOf } from '#api/sync/merge/base.ts'
import { type BotVerdict, needsBotFacts, observeBots } from '#api/sync/merge/observeBots.ts'
import { refusalColumn } from '#api/sync/merge/putBack.ts'
import { newestVersion } from '#api/sync/rows/synced.ts'
import { explainBotSize } from '#shared/domain/bots.ts'
import { noBotUse } from '#shared/domain/botUse.ts'
import type { Result } from '#shared/kube/controller.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { readBots } from '#shared/resources/read.ts'
import { defaultScalingProfile, type ScalingProfile, scalingProfiles } from '#shared/scalingProfiles.ts'
import { insertNewBots } from './newBots.ts'
import { NotAdopted } from './newResource.ts'
import { createObservation } from './observation.ts'
import { type Outcome, pullResource } from './pull.ts'
import type { PullDeps } from './pullDeps.ts'
import { shownState } from './syncedCondition.ts'

/**
 * Reads one BotDeployment from the cache into its row. Undefined means that it was deleted. A BotDeployment without a row is
 * ignored. `key` is `namespace/name`.
 */
export const pullBots = (deps: PullDeps, key: string, live: BotDeployment | undefined): Promise<Result> =>
  pullResource(deps, { kind: 'bot', key, live, client: deps.bots, apply: applyObservation })

/** Writes the changes of a verdict to the row and marks it dirty if a push must follow. */
const recordVerdict = async (
  deps: PullDeps,
  tx: Transaction,
  row: BotRow,
  live: BotDeployment,
  verdict: BotVerdict,
): Promise<Outcome> => {
  const now = new Date(deps.clock.now())
  const { edit, foreignRevision = 0, reasons } = verdict
  const isChanged = edit !== undefined || foreignRevision > 0 || verdict.markDeleting
  const revision = isChanged ? Math.max(row.revision, foreignRevision) + 1 : row.revision
  const refusal = refusalColumn(row, verdict, { ...versionsOf(live), revision, nowMs: now.getTime() })
  await tx
    .update(botDeployments)
    .set({
      ...newestVersion(row, live.metadata),
      ...(verdict.acknowledged ? { applied: live.spec } : {}),
      ...(verdict.observed && { ...verdict.observed, statusVersion: sql`${botDeployments.statusVersion} + 1` }),
      ...refusal,
      ...(edit && { ...toBotColumns(edit), updatedAt: now }),
      ...(verdict.markDeleting ? { deletingAt: now } : {}),
      revision,
    })
    .where(eq(botDeployments.id, row.id))
  if (verdict.observed !== undefined) {
    const { status = {} } = live
    const drafts = observedEvents(row, verdict.observed, status)
    await recordBotEvents(tx, row, drafts, { now, newId: deps.newId, runId: status.run?.id ?? null })
  }
  const wake = Boolean(verdict.acknowledged || verdict.pushAgain || verdict.markDeleting)
  if (wake) await markDirty(tx, { kind: 'bot', id: row.id, revision })
  return { wake, ...(verdict.release ? { release: true } : {}), reasons, ...shownState(row, row.worldId, refusal) }
}

/** Returns the row, or undefined if it does not exist. */
const findBots = async (tx: Transaction, id: string, lock?: 'update'): Promise<BotRow | undefined> => {
  const query = tx.select().from(botDeployments).where(eq(botDeployments.id, id))
  const [row] = await (lock === undefined ? query : query.for(lock)).execute()
  return row
}

/** Locks the world of a bot deployment, so that concurrent changes count each other's bots. */
const lockWorld = async (tx: Transaction, id: string): Promise<void> => {
  await tx.select({ id: worlds.id }).from(worlds).where(eq(worlds.id, id)).for('no key update')
}

const readProfile = async ({ profiles }: PullDeps, tx: Transaction, worldId: string): Promise<ScalingProfile> => {
  const [world] = await tx.select({ networking: worlds.networking }).from(worlds).where(eq(worlds.id, worldId))
  return profiles[world?.networking.scaling.profile ?? defaultScalingProfile]
}

/** Reads what the rules for edits depend on. It locks the organization's row, after the world's. */
const readBotFacts = async (deps: PullDeps, tx: Transaction, row: BotRow): Promise<BotFacts> => {
  const { id, organizationId, worldId } = row
  const limits = await lockLimits({ organizationId, defaultLimits: deps.defaultLimits }, tx)
  return {
    otherBots: await countLiveBots(tx, worldId, id),
    profile: await readProfile(deps, tx, worldId),
    otherUse: await sumBots(tx, { organizationId, except: id }),
    limits,
  }
}

/** Facts for a BotDeployment without edits. */
const noBotFacts: BotFacts = {
  otherBots: 0,
  profile: scalingProfiles.Capacity10,
  otherUse: noBotUse,
  limits: { maxBotCpu: 0, maxBotMemory: 0 },
}

const applyObservation = createObservation<BotDeployment, BotRow, BotVerdict>({
  kind: 'bot',
  read: readBots,
  lock: async (tx, id, see) => {
    const known = await findBots(tx, id)
    // REST locks in this order too.
    if (known !== undefined && needsBotFacts(known, see())) await lockWorld(tx, known.worldId)
    const [row, isMarked] = await Promise.all([findBots(tx, id, 'update'), isDirty(tx, 'bot', id)])
    return row && { row, isDirty: isMarked }
  },
  insert: async (deps, tx, { organizationId, live }) => {
    const row = await insertNewBots(deps, tx, { organizationId, ...live })
    // The row takes the size over, so that the merge that follows finds no edit of it.
    const excess = explainBotSize(row, await readProfile(deps, tx, row.worldId))
    if (excess !== undefined) throw new NotAdopted('LimitReached', excess)
    return { row, live }
  },
  decide: async (deps, tx, row, { seen, isDirty, lost }) => {
    const facts = needsBotFacts(row, seen) ? await readBotFacts(deps, tx, row) : noBotFacts
    return observeBots(row, seen, isDirty, { facts, lost })
  },
  record: recordVerdict,
  deletionOf: () => 'deletion',
})
