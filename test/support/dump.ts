import postgres from 'postgres'

/** What push writes when it likes: where a row's resource is, and what waits for it. */
const ofTheCluster = ['applied', 'applied_resource_version', 'resource_uid']

/** Every row of every table, but for what the cluster's side writes; `waiting` tells whether that still has to. */
export const dumpRows = async (databaseUrl: string): Promise<{ rows: Record<string, string[]>; waiting: boolean }> => {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined })
  try {
    const tables = await sql<{ name: string }[]>`
      select table_name as name from information_schema.tables
      where table_schema = 'public' and table_type = 'BASE TABLE' and table_name <> 'cluster_outbox' order by 1`
    const rows: Record<string, string[]> = {}
    for (const { name } of tables) {
      const found = await sql<{ row: string }[]>`
        select (to_jsonb(t) - ${ofTheCluster}::text[])::text as row from ${sql(name)} t order by 1`
      rows[name] = found.map(({ row }) => row)
    }
    const [outbox] = await sql<{ waiting: boolean }[]>`select exists (select from cluster_outbox) as waiting`
    return { rows, waiting: outbox?.waiting ?? false }
  } finally {
    await sql.end()
  }
}
