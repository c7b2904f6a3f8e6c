import { eq, sql } from 'drizzle-orm'
import { type BotRow, botDeployments } from '#api/domain/bots/table.ts'
import { isDirty, markDirty } from '#api/platform/outbox/outbox.ts'
import { type BotDeployment, botDeploymentSpecSchema } from '#shared/resources/botDeployment.ts'
import { identify } from './identity.ts'
import { observeBots } from './observeBots.ts'
import { type ApplyObservation, type PullDeps, pullResource } from './pull.ts'
import { isOutdated, newestVersion } from './synced.ts'

/**
 * Reads one BotDeployment from the cache into its row. Undefined means that it was deleted. A BotDeployment without a row is
 * ignored. `key` is `namespace/name`.
 */
export const pullBots = (deps: PullDeps, key: string, live: BotDeployment | undefined): Promise<void> =>
  pullResource(deps, { kind: 'bot', key, live, client: deps.bots, apply: applyBotsObservation })

const applyBotsObservation: ApplyObservation<BotDeployment> = async (deps, tx, seen, replacedUid) => {
  const [row] = await tx.select().from(botDeployments).where(eq(botDeployments.id, seen.metadata.name)).for('update')
  if (row === undefined) return undefined
  const identity = identify(row, seen.metadata, { namespacePrefix: deps.namespacePrefix, replacedUid })
  if (identity === 'stranger') return { stranger: true }
  if (identity === 'successor') return { replacedUid: row.resourceUid }
  const live = { ...seen, spec: botDeploymentSpecSchema.parse(seen.spec) }
  if (isOutdated(row, live.metadata)) return {}
  const verdict = observeBots(row, live, await isDirty(tx, 'bot', row.id))
  if (verdict.frozen) return { frozen: true }
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
  return { wake, ...(verdict.release ? { release: true } : {}) }
}
