import { and, eq, inArray, isNull, ne, sql } from 'drizzle-orm'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { prepared } from '#api/platform/database/prepared.ts'
import { runningPhases } from '#shared/domain/phases.ts'
import { nodePortsPerService, type RunUse } from '#shared/domain/runUse.ts'
import { worlds } from '../table.ts'

/** The strategy of the run as the operator resolved it, or before that the strategy of its start. */
const strategy = sql`coalesce(${worlds.address} ->> 'strategy', ${worlds.startedWith} ->> 'networking strategy')`

/** Returns the use of the organization's running worlds, each as at its start, without that of `exceptId`. */
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
      capacity: sql<number>`coalesce(sum(${worlds.runningCapacity}), 0)::int`,
      services: sql<number>`count(*) filter (where ${strategy} in ('NodePort', 'LoadBalancer'))::int`,
      loadBalancers: sql<number>`count(*) filter (where ${strategy} = 'LoadBalancer')::int`,
    })
    .from(worlds)
    .where(
      and(
        eq(worlds.organizationId, sql.placeholder('organizationId')),
        inArray(worlds.phase, runningPhases),
        isNull(worlds.deletingAt),
        ne(worlds.id, sql.placeholder('exceptId')),
      ),
    )
    .prepare('running_sum'),
)
