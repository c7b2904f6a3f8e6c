import { eq, sql } from 'drizzle-orm'
import { type BotRow, botDeployments } from '#api/domain/bots/table.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { isDirty, markDirty } from '#api/platform/outbox/outbox.ts'
import { type BotDeployment, botDeploymentSpecSchema } from '#shared/resources/botDeployment.ts'
import { observeBots } from './observeBots.ts'
import { follow, type PullDeps, pullGone } from './pull.ts'
import { isOutdated, newestVersion } from './synced.ts'

/** Takes one BotDeployment as the cache shows it (undefined: it is gone) into its row; one without a row is left alone. */
export const pullBots = async (deps: PullDeps, name: string, live: BotDeployment | undefined): Promise<void> => {
  if (live === undefined) return pullGone(deps, 'bot', name)
  const bots = { ...live, spec: botDeploymentSpecSchema.parse(live.spec) }
  await follow(deps, bots, deps.bots, await deps.db.transaction((tx) => take(deps, tx, bots)))
}

const take = async (deps: PullDeps, tx: Transaction, live: BotDeployment) => {
  const [row] = await tx.select().from(botDeployments).where(eq(botDeployments.id, live.metadata.name)).for('update')
  if (row === undefined) return undefined
  if (isOutdated(row, live.metadata)) return {}
  const verdict = observeBots(row, live, await isDirty(tx, 'bot', row.id))
  if (verdict.frozen) return { frozen: true } as const
  const now = new Date(deps.clock.now())
  const intent: Partial<BotRow> = verdict.markDeleting
    ? { deletingAt: now, revision: row.revision + 1 }
    : verdict.adoptCount === undefined
      ? {}
      : { count: verdict.adoptCount, revision: row.revision + 1, updatedAt: now }
  await tx
    .update(botDeployments)
    .set({
      ...newestVersion(row, live.metadata),
      ...(verdict.adoptCount === undefined ? {} : { applied: live.spec }),
      ...(verdict.observed && { ...verdict.observed, statusVersion: sql`${botDeployments.statusVersion} + 1` }),
      ...intent,
    })
    .where(eq(botDeployments.id, row.id))
  const wake = verdict.pushAgain || intent.revision !== undefined
  if (wake) await markDirty(tx, { kind: 'bot', id: row.id, revision: intent.revision ?? row.revision }, now.getTime())
  return { wake, ...(verdict.release ? { release: true as const } : {}) }
}
