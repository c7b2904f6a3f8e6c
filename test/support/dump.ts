import postgres from 'postgres'

/** What push writes when it likes: where a row's resource is, and what waits for it. */
const ofTheCluster = ['applied', 'applied_resource_version', 'resource_uid']
const clients = new Map<string, postgres.Sql>()

/** Every row of every table, but for what the cluster's side writes; `waiting` tells whether that still has to. */
export const dumpRows = async (databaseUrl: string): Promise<{ rows: Record<string, string[]>; waiting: boolean }> => {
  const known = clients.get(databaseUrl)
  const sql = known ?? postgres(databaseUrl, { max: 1, idle_timeout: 5, onnotice: () => undefined })
  clients.set(databaseUrl, sql)
  const tables = await sql<{ name: string }[]>`
    select table_name as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE' order by 1`
  const every = tables.map(
    ({ name }) => `select '${name}' as name, (to_jsonb(t) - $1::text[])::text as row from ${name} t`,
  )
  const found = await sql.unsafe<{ name: string; row: string }[]>(`${every.join(' union all ')} order by 1, 2`, [
    ofTheCluster,
  ])
  const rows: Record<string, string[]> = {}
  let waiting = false
  for (const { name, row } of found) {
    if (name === 'cluster_outbox') waiting = true
    else rows[name] = [...(rows[name] ?? []), row]
  }
  return { rows, waiting }
}
