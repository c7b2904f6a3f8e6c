import { and, eq, ne, sql } from 'drizzle-orm'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { prepared } from '#api/platform/database/prepared.ts'
import { nodePortsPerService, type RunUse } from '#shared/domain/runUse.ts'
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
