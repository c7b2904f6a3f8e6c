import pg from 'pg'

/** Columns that are written in the background: the applied resource of a row, and the last use of a key. */
const ofTheBackground = ['applied', 'applied_resource_version', 'resource_uid', 'last_used_at']
/** The columns of the attempts to deliver a message to a webhook, which are made in the background. */
const ofAttempts = [
  ...['status', 'attempts', 'next_attempt_at', 'claimed_until', 'last_attempt_at', 'status_code', 'failure'],
]
const tablesOfTheBackground = ['cluster_states', 'cluster_containers', 'held_sweeps', 'sync_findings']
const pools = new Map<string, pg.Pool>()

/**
 * Returns every row of every table, without the tables and columns that are written in the background. `waiting` reports whether a
 * push is pending.
 */
export const dumpRows = async (databaseUrl: string): Promise<{ rows: Record<string, string[]>; waiting: boolean }> => {
  const known = pools.get(databaseUrl)
  const sql = known ?? new pg.Pool({ connectionString: databaseUrl, max: 1, idleTimeoutMillis: 5_000 })
  pools.set(databaseUrl, sql)
  const tables = await sql.query<{ name: string }>(
    `
    select table_name as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE' and table_name <> all ($1) order by 1`,
    [tablesOfTheBackground],
  )
  const every = tables.rows.map(({ name }) => {
    const columns = [...ofTheBackground, ...(name === 'webhook_deliveries' ? ofAttempts : [])]
    const left = columns.map((column) => `'${column}'`).join()
    return `select '${name}' as name, (to_jsonb(t) - array[${left}])::text as row from ${name} t`
  })
  const found = await sql.query<{ name: string; row: string }>(`${every.join(' union all ')} order by 1, 2`)
  const rows: Record<string, string[]> = {}
  let waiting = false
  for (const { name, row } of found.rows) {
    if (name === 'cluster_outbox') waiting = true
    else rows[name] = [...(rows[name] ?? []), row]
  }
  return { rows, waiting }
}
