import { sql } from 'drizzle-orm'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { statement } from '#api/platform/database/statement.ts'
import { nodePortsPerService, type RunUse } from '#shared/domain/runUse.ts'
import { startWindowMs } from './start.ts'
import { deployments, type WorldRow, whereOpen } from './table.ts'

/**
 * Returns the use of the organization's runs whose end is not recorded, with the settings of their starts, without those of the
 * world `exceptId`. Draining runs and those of deleted worlds count.
 */
export const sumRunning = async (
  tx: Transaction | Database,
  { organizationId, exceptId }: { organizationId: string; exceptId?: string },
): Promise<RunUse> => {
  // No world has an empty id.
  const [sums] = await selectSums(tx, { organizationId, exceptId: exceptId ?? '' })
  const { capacity = 0, services = 0, balancers = 0 } = sums ?? {}
  return { capacity, nodePorts: services * nodePortsPerService, loadBalancers: balancers }
}

// A statement, because each start sums while others wait for its lock.
const selectSums = statement<{ organizationId: string; exceptId: string }, Sums>(sql`
  select coalesce(sum(capacity), 0)::int as capacity,
    (count(*) filter (where strategy in ('NodePort', 'LoadBalancer')))::int as services,
    (count(*) filter (where strategy = 'LoadBalancer'))::int as balancers
  from ${deployments}
  where organization_id = ${sql.placeholder('organizationId')} and ${whereOpen(deployments)}
    and world_id <> ${sql.placeholder('exceptId')}`)

type Sums = { readonly capacity: number; readonly services: number; readonly balancers: number }

/** The highest rate of starts that is checked, in starts per minute. A world keeps no more deployments. */
const maxCheckedRate = 500

/** Returns the times of a world's starts in the last `startWindowMs` as epoch milliseconds, oldest first, without `exceptRunId`. */
export const readRecentStarts = async (
  tx: Transaction,
  { id: worldId, granted }: Pick<WorldRow, 'id' | 'granted'>,
  { exceptRunId = '', startsPerMinute, now }: { exceptRunId?: string; startsPerMinute: number; now: Date },
): Promise<number[]> => {
  const lastStartMs = granted === null ? 0 : Date.parse(granted.startedAt)
  if (startsPerMinute > maxCheckedRate || now.getTime() - lastStartMs > startWindowMs) return []
  const since = new Date(now.getTime() - startWindowMs).toISOString()
  const rows = await selectStarts(tx, { worldId, since, exceptRunId, limit: 2 * Math.ceil(startsPerMinute) })
  return rows.map(({ startMs }) => startMs).reverse()
}

// A statement, because each start reads them while others wait for its lock.
const selectStarts = statement<
  { worldId: string; since: string; exceptRunId: string; limit: number },
  { readonly startMs: number }
>(sql`
  select (extract(epoch from created_at) * 1000)::float8 as "startMs"
  from ${deployments}
  where world_id = ${sql.placeholder('worldId')} and created_at > ${sql.placeholder('since')}
    and run_id <> ${sql.placeholder('exceptRunId')}
  order by created_at desc
  limit ${sql.placeholder('limit')}`)
