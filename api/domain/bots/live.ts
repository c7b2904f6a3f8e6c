import { and, eq, isNull, notInArray, type SQL, sql } from 'drizzle-orm'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { type BotUse, noBotUse, sumBotUse, useOfBots, type WorldBots } from '#shared/domain/botUse.ts'
import { endedBotPhases } from '#shared/domain/phases.ts'
import { maxUse } from '#shared/domain/use.ts'
import { botDeployments } from './table.ts'

/** Selects the bot deployments that have not ended in the run of their world. */
const notEnded = notInArray(botDeployments.phase, [...endedBotPhases])

const sumOfCounts = (where?: SQL) =>
  where === undefined
    ? sql<number>`coalesce(sum(${botDeployments.count}), 0)::float8`
    : sql<number>`coalesce(sum(${botDeployments.count}) filter (where ${where}), 0)::float8`

/** Returns the sum of the counts of a world's bot deployments that have not ended, without the bot deployment `except`. */
export const countLiveBots = async (tx: Transaction, worldId: string, except = ''): Promise<number> => {
  const [live] = await tx
    .select({ sum: sumOfCounts() })
    .from(botDeployments)
    .where(
      and(
        eq(botDeployments.worldId, worldId),
        isNull(botDeployments.deletingAt),
        notEnded,
        sql`${botDeployments.id} <> ${except}`,
      ),
    )
  return live?.sum ?? 0
}

/** Returns the bots of a world. Bot deployments that have ended count among the sizes, because the next run starts them. */
export const readWorldBots = async (tx: Transaction, worldId: string): Promise<WorldBots> => {
  const { cpu, memory } = botDeployments
  const sizes = await tx
    .select({ cpu, memory, live: sumOfCounts(notEnded) })
    .from(botDeployments)
    .where(and(eq(botDeployments.worldId, worldId), isNull(botDeployments.deletingAt)))
    .groupBy(cpu, memory)
  return {
    live: sizes.reduce((sum, { live }) => sum + live, 0),
    largest: sizes.map((size) => useOfBots(size, 1)).reduce(maxUse, noBotUse),
  }
}

/**
 * Returns the use of an organization's bot deployments, without the bot deployment `except`. Those that have ended count, because
 * the next run of their world starts them, and a deleted one counts until its bots are gone. For a check, the organization's row
 * must be locked.
 */
export const sumBots = async (
  db: Database | Transaction,
  { organizationId, except = '' }: { readonly organizationId: string; readonly except?: string },
): Promise<BotUse> => {
  const { cpu, memory } = botDeployments
  const sizes = await db
    .select({ cpu, memory, count: sumOfCounts() })
    .from(botDeployments)
    .where(
      and(
        eq(botDeployments.organizationId, organizationId),
        isNull(botDeployments.removedAt),
        sql`${botDeployments.id} <> ${except}`,
      ),
    )
    .groupBy(cpu, memory)
  return sumBotUse(sizes.map(({ count, ...size }) => useOfBots(size, count)))
}
