import { sql } from 'drizzle-orm'
import { type Database, query, type Transaction } from '#api/platform/database/client.ts'
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
  // Plain SQL, because each start sums while others wait for its lock. No world has an empty id.
  const [sums] = await query<Sums>(
    tx,
    sql`
      select coalesce(sum(capacity), 0)::int as capacity,
        (count(*) filter (where strategy in ('NodePort', 'LoadBalancer')))::int as services,
        (count(*) filter (where strategy = 'LoadBalancer'))::int as balancers
      from ${deployments}
      where organization_id = ${organizationId} and ${whereOpen(deployments)} and world_id <> ${exceptId ?? ''}`,
  )
  const { capacity = 0, services = 0, balancers = 0 } = sums ?? {}
  return { capacity, nodePorts: services * nodePortsPerService, loadBalancers: balancers }
}

type Sums = { readonly capacity: number; readonly services: number; readonly balancers: number }
