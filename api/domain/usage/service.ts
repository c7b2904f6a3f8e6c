import { and, count, eq, inArray, isNull, max, sum } from 'drizzle-orm'
import type { Context } from '#api/domain/access/context.ts'
import { apiKeys } from '#api/domain/apiKeys/table.ts'
import { botDeployments } from '#api/domain/bots/table.ts'
import { readDocumentUsage } from '#api/domain/documents/usage/service.ts'
import { limitsOf } from '#api/domain/organizations/limits/service.ts'
import { organizations } from '#api/domain/organizations/table.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import { notFound } from '#api/platform/http/problem.ts'
import type { UsageAnswer } from './schema.ts'

/** Reads each limit of the organization of the headers with its current use. */
export const getUsage = async (ctx: Context): Promise<UsageAnswer> => {
  const { db, organizationId } = ctx
  const [row] = await db
    .select({ limits: organizations.limits })
    .from(organizations)
    .where(eq(organizations.id, organizationId))
  if (row === undefined) throw notFound()
  const limits = limitsOf(ctx.defaultLimits, row)
  const [found, running, keys, documents] = await Promise.all([
    countWorlds(ctx),
    sumRunning(ctx),
    db.$count(apiKeys, eq(apiKeys.organizationId, organizationId)),
    readDocumentUsage(db, organizationId),
  ])
  const bots = await db.$count(
    botDeployments,
    and(eq(botDeployments.organizationId, organizationId), isNull(botDeployments.deletingAt)),
  )
  return {
    maxWorlds: { limit: limits.maxWorlds, used: found.count },
    maxWorldCapacity: { limit: limits.maxWorldCapacity, used: found.largest ?? 0 },
    maxRunningCapacity: { limit: limits.maxRunningCapacity, used: running },
    maxBotDeployments: { limit: limits.maxBotDeployments, used: bots },
    maxApiKeys: { limit: limits.maxApiKeys, used: keys },
    maxDocuments: { limit: limits.maxDocuments, used: documents.documents },
    maxDocumentBytes: { limit: limits.maxDocumentBytes, used: documents.bytes },
    maxConnections: { limit: limits.maxConnections, used: ctx.connectionCounts.get(organizationId) ?? 0 },
    maxRequestsPerSecond: { limit: limits.maxRequestsPerSecond },
  }
}

const present = (organizationId: string) => and(eq(worlds.organizationId, organizationId), isNull(worlds.deletingAt))

const countWorlds = async ({ db, organizationId }: Context) => {
  const [row] = await db
    .select({ count: count(), largest: max(worlds.estimatedCapacity) })
    .from(worlds)
    .where(present(organizationId))
  return row ?? { count: 0, largest: 0 }
}

const sumRunning = async ({ db, organizationId }: Context): Promise<number> => {
  const [row] = await db
    .select({ capacity: sum(worlds.runningCapacity) })
    .from(worlds)
    .where(and(present(organizationId), inArray(worlds.phase, ['Starting', 'Active'])))
  return Number(row?.capacity ?? 0)
}
