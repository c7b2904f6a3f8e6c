import { and, count, eq, isNull, max } from 'drizzle-orm'
import type { Context } from '#api/domain/access/context.ts'
import { toUsage } from '#api/domain/access/limits.ts'
import { apiKeys } from '#api/domain/apiKeys/table.ts'
import { sumBots } from '#api/domain/bots/live.ts'
import { botDeployments } from '#api/domain/bots/table.ts'
import { readDocumentUsage } from '#api/domain/documents/usage.ts'
import { limitsOf } from '#api/domain/organizations/limits.ts'
import { organizations } from '#api/domain/organizations/table.ts'
import { webhooks } from '#api/domain/webhooks/table.ts'
import { sumRunning } from '#api/domain/worlds/start.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import { notFound } from '#api/platform/http/problem.ts'

/** Reads each limit of the organization of the headers with its current use. */
export const getUsage = async (ctx: Context) => {
  const { db, organizationId } = ctx
  const [row] = await db
    .select({ limits: organizations.limits })
    .from(organizations)
    .where(and(eq(organizations.id, organizationId), isNull(organizations.deletingAt)))
  if (row === undefined) throw notFound()
  const limits = limitsOf(ctx.defaultLimits, row)
  // One after the other: a request has one connection of its organization's share.
  const found = await countWorlds(ctx)
  const running = await sumRunning(db, { organizationId })
  const keys = await db.$count(apiKeys, eq(apiKeys.organizationId, organizationId))
  const hooks = await db.$count(webhooks, eq(webhooks.organizationId, organizationId))
  const documents = await readDocumentUsage(db, organizationId)
  const wherePresentBots = and(eq(botDeployments.organizationId, organizationId), isNull(botDeployments.deletingAt))
  const bots = await db.$count(botDeployments, wherePresentBots)
  const botUse = await sumBots(db, { organizationId })
  return toUsage(limits, {
    maxWorlds: found.count,
    maxWorldCapacity: found.largest ?? 0,
    maxRunningCapacity: running.capacity,
    maxNodePorts: running.nodePorts,
    maxLoadBalancers: running.loadBalancers,
    maxBotDeployments: bots,
    maxBotCpu: botUse.millicores / 1_000,
    maxBotMemory: botUse.bytes,
    maxApiKeys: keys,
    maxWebhooks: hooks,
    maxDocuments: documents.documents,
    maxDocumentBytes: documents.bytes,
    maxConnections: ctx.connectionCounts.get(organizationId) ?? 0,
  })
}

const wherePresentWorlds = (organizationId: string) =>
  and(eq(worlds.organizationId, organizationId), isNull(worlds.deletingAt))

const countWorlds = async ({ db, organizationId }: Context) => {
  const [row] = await db
    .select({ count: count(), largest: max(worlds.estimatedCapacity) })
    .from(worlds)
    .where(wherePresentWorlds(organizationId))
  return row ?? { count: 0, largest: 0 }
}
