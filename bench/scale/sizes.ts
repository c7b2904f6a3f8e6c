import { inSession } from '#dev/postgres.ts'
import { readMetrics, type Target } from '../api.ts'
import type { BenchCluster, Operator } from '../operator/cluster.ts'
import { readServerMetrics, sumMetric } from '../serverMetrics.ts'

/** The running parts of a system that is measured. */
export type Parts = {
  readonly api: Target
  readonly operator: Operator
  readonly cluster: BenchCluster
  readonly databaseUrl: string
}

/** Reads the transactions that Postgres has committed, and the writes that the API server has answered, except leases. */
export const readCounts = async ({ cluster, databaseUrl }: Parts): Promise<{ commits: number; writes: number }> => {
  const server = await readServerMetrics(cluster.transport)
  const commits = await inSession(databaseUrl, async (sql) => {
    const { rows } = await sql.query(
      'select xact_commit::float8 as commits from pg_stat_database where datname = current_database()',
    )
    return Number(rows[0]?.commits)
  })
  const ofWrites = /resource="(?!leases").*verb="(APPLY|POST|PUT|PATCH|DELETE)"/
  return { commits, writes: sumMetric(server, 'apiserver_request_total', ofWrites) }
}

/** Sizes in bytes, by their names. */
export type Sizes = Readonly<Record<string, number>>

/** Reads the memory of each process and the size of each store. */
export const readSizes = async ({ api, operator, cluster, databaseUrl }: Parts): Promise<Sizes> => {
  const server = await readServerMetrics(cluster.transport)
  const database = await inSession(databaseUrl, async (sql) => {
    const { rows } = await sql.query('select pg_database_size(current_database())::float8 as bytes')
    return Number(rows[0]?.bytes)
  })
  return {
    'memory of the API': (await readMetrics(api.metricsUrl))('process_resident_memory_bytes'),
    'memory of the operator': (await operator.usage()).rssMiB * 2 ** 20,
    'memory of the API server': sumMetric(server, 'process_resident_memory_bytes'),
    'etcd, with old revisions': sumMetric(server, 'apiserver_storage_size_bytes'),
    database,
  }
}
