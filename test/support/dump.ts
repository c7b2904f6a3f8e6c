import pg from 'pg'

/** Columns that are written in the background: where a row's resource is, and when a key was used. */
const ofTheBackground = ['applied', 'applied_resource_version', 'resource_uid', 'last_used_at']
const pools = new Map<string, pg.Pool>()

/** Every row of every table, but for what the cluster's side writes; `waiting` tells whether that still has to. */
export const dumpRows = async (databaseUrl: string): Promise<{ rows: Record<string, string[]>; waiting: boolean }> => {
  const known = pools.get(databaseUrl)
  const sql = known ?? new pg.Pool({ connectionString: databaseUrl, max: 1, idleTimeoutMillis: 5_000 })
  pools.set(databaseUrl, sql)
  const tables = await sql.query<{ name: string }>(`
    select table_name as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE' order by 1`)
  const every = tables.rows.map(
    ({ name }) => `select '${name}' as name, (to_jsonb(t) - $1::text[])::text as row from ${name} t`,
  )
  const found = await sql.query<{ name: string; row: string }>(`${every.join(' union all ')} order by 1, 2`, [
    ofTheBackground,
  ])
  const rows: Record<string, string[]> = {}
  let waiting = false
  for (const { name, row } of found.rows) {
    if (name === 'cluster_outbox') waiting = true
    else rows[name] = [...(rows[name] ?? []), row]
  }
  return { rows, waiting }
}
