import { and, desc, eq, gt, ne, sql } from 'drizzle-orm'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { prepared } from '#api/platform/database/prepared.ts'
import { nodePortsPerService, type RunUse } from '#shared/domain/runUse.ts'
import { startWindowMs } from '../start.ts'
import { deployments, whereOpen } from '../table.ts'

/**
 * Returns the use of the organization's runs whose end is not recorded, each as at its start, without those of the world
 * `exceptId`. Runs that drain count, also those of deleted worlds.
 */
export const sumRunning = async (
  tx: Transaction | Database,
  { organizationId, exceptId }: { organizationId: string; exceptId?: string },
): Promise<RunUse> => {
  // No world has an empty id.
  const [running] = await sumQuery(tx).execute({ organizationId, exceptId: exceptId ?? '' })
  const { capacity = 0, services = 0, loadBalancers = 0 } = running ?? {}
  return { capacity, nodePorts: services * nodePortsPerService, loadBalancers }
}

/** The highest rate of starts that is checked, in starts per minute. A world keeps no more deployments. */
const maxCheckedRate = 500

/** Returns the times of a world's starts in the last `startWindowMs` as epoch milliseconds, oldest first, without `exceptRunId`. */
export const readRecentStarts = async (
  tx: Transaction,
  { worldId, exceptRunId = '' }: { worldId: string; exceptRunId?: string },
  { startsPerMinute, now }: { startsPerMinute: number; now: Date },
): Promise<number[]> => {
  if (startsPerMinute > maxCheckedRate) return []
  const { createdAt, runId } = deployments
  const since = new Date(now.getTime() - startWindowMs)
  const rows = await tx
    .select({ createdAt })
    .from(deployments)
    .where(and(eq(deployments.worldId, worldId), gt(createdAt, since), ne(runId, exceptRunId)))
    .orderBy(desc(createdAt))
    .limit(2 * Math.ceil(startsPerMinute))
    .execute()
  return rows.map((row) => row.createdAt.getTime()).reverse()
}

const sumQuery = prepared((db) =>
  db
    .select({
      capacity: sql<number>`coalesce(sum(${deployments.capacity}), 0)::int`,
      services: sql<number>`count(*) filter (where ${deployments.strategy} in ('NodePort', 'LoadBalancer'))::int`,
      loadBalancers: sql<number>`count(*) filter (where ${deployments.strategy} = 'LoadBalancer')::int`,
    })
    .from(deployments)
    .where(
      and(
        eq(deployments.organizationId, sql.placeholder('organizationId')),
        whereOpen(deployments),
        ne(deployments.worldId, sql.placeholder('exceptId')),
      ),
    )
    .prepare('running_sum'),
)
