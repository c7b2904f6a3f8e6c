import { and, count, eq, isNull, max } from 'drizzle-orm'
import type { Context } from '#api/domain/access/context.ts'
import { apiKeys } from '#api/domain/apiKeys/table.ts'
import { sumBots } from '#api/domain/bots/live/service.ts'
import { botDeployments } from '#api/domain/bots/table.ts'
import { readDocumentUsage } from '#api/domain/documents/usage/service.ts'
import { limitsOf } from '#api/domain/organizations/limits/service.ts'
import { organizations } from '#api/domain/organizations/table.ts'
import { webhooks } from '#api/domain/webhooks/table.ts'
import { sumRunning } from '#api/domain/worlds/running/service.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import { notFound } from '#api/platform/http/problem.ts'
import type { UsageAnswer } from './schema.ts'

/** Reads each limit of the organization of the headers with its current use. */
export const getUsage = async (ctx: Context): Promise<UsageAnswer> => {
  const { db, organizationId } = ctx
  const [row] = await db
    .select({ limits: organizations.limits })
    .from(organizations)
    .where(and(eq(organizations.id, organizationId), isNull(organizations.deletingAt)))
  if (row === undefined) throw notFound()
  const limits = limitsOf(ctx.defaultLimits, row)
  const [found, running, keys, hooks, documents] = await Promise.all([
    countWorlds(ctx),
    sumRunning(db, { organizationId }),
    db.$count(apiKeys, eq(apiKeys.organizationId, organizationId)),
    db.$count(webhooks, eq(webhooks.organizationId, organizationId)),
    readDocumentUsage(db, organizationId),
  ])
  const wherePresentBots = and(eq(botDeployments.organizationId, organizationId), isNull(botDeployments.deletingAt))
  const bots = await db.$count(botDeployments, wherePresentBots)
  const botUse = await sumBots(db, { organizationId })
  return {
    maxWorlds: { limit: limits.maxWorlds, used: found.count },
    maxWorldCapacity: { limit: limits.maxWorldCapacity, used: found.largest ?? 0 },
    maxRunningCapacity: { limit: limits.maxRunningCapacity, used: running.capacity },
    maxNodePorts: { limit: limits.maxNodePorts, used: running.nodePorts },
    maxLoadBalancers: { limit: limits.maxLoadBalancers, used: running.loadBalancers },
    maxBotDeployments: { limit: limits.maxBotDeployments, used: bots },
    maxBotCpu: { limit: limits.maxBotCpu, used: botUse.millicores / 1_000 },
    maxBotMemory: { limit: limits.maxBotMemory, used: botUse.bytes },
    imageRegistries: { limit: limits.imageRegistries },
    imagePullSecrets: { limit: limits.imagePullSecrets },
    maxApiKeys: { limit: limits.maxApiKeys, used: keys },
    maxWebhooks: { limit: limits.maxWebhooks, used: hooks },
    maxDocuments: { limit: limits.maxDocuments, used: documents.documents },
    maxDocumentBytes: { limit: limits.maxDocumentBytes, used: documents.bytes },
    maxDocumentBytesPerSecond: { limit: limits.maxDocumentBytesPerSecond },
    maxConnections: { limit: limits.maxConnections, used: ctx.connectionCounts.get(organizationId) ?? 0 },
    maxRequestsPerSecond: { limit: limits.maxRequestsPerSecond },
  }
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
