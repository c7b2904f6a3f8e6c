import pg from 'pg'
import { createClient } from '#client/client.ts'
import { rootApiKey } from '../api.ts'

/** An organization with many worlds, and a key that reads them. */
export type Fleet = {
  readonly apiKey: string
  readonly organizationId: string
  /** The ids of the oldest worlds, the oldest first. They are at the top of the table in the order of ages. */
  readonly oldest: readonly string[]
  /** Commits change `n`: it renames one of the oldest worlds to `n-<n>`. */
  rename(n: number): Promise<unknown>
  close(): Promise<void>
}

/** The number of worlds that are renamed. All of them are in view. */
const renamedCount = 12

/** Creates an organization with a number of worlds. One is created over REST, and the others are copies of its row. */
export const createFleet = async (
  { url, databaseUrl }: { readonly url: string; readonly databaseUrl: string },
  worldCount: number,
): Promise<Fleet> => {
  const platform = createClient({ baseUrl: url, apiKey: rootApiKey })
  const { organizationId } = await platform.createOrganization({ body: { name: 'Bench' } })
  const scoped = platform.in({ organizationId })
  const { projectId } = await scoped.createProject({ body: { name: 'Bench' } })
  const permissions = [`organizations/${organizationId}/**:r`]
  const { apiKey } = await scoped.createApiKey({ body: { displayName: 'Bench', permissions } })
  const labels = { team: 'events', season: 'winter' }
  const { worldId } = await platform.in({ organizationId, projectId }).createWorld({
    body: { name: 'World 1', transient: false, metadata: { annotations: {}, labels } },
  })
  const sql = new pg.Pool({ connectionString: databaseUrl, max: 4 })
  await sql.query(copyText, [worldId, worldCount])
  const { rows } = await sql.query<{ id: string }>('select id from worlds order by created_at limit $1', [renamedCount])
  const oldest = rows.map(({ id }) => id)
  return {
    apiKey,
    organizationId,
    oldest,
    rename: (n) =>
      sql.query({
        name: 'rename',
        text: 'update worlds set name = $2 where id = $1',
        values: [oldest[n % renamedCount], `n-${n}`],
      }),
    close: () => sql.end(),
  }
}

/** Every tenth copy failed. The last characters of an id count the copies. */
const copyText = `
  insert into worlds select (jsonb_populate_record(w, jsonb_build_object(
    'id', left(w.id, -6) || lpad(n::text, 6, '0'),
    'name', 'World ' || n,
    'created_at', w.created_at + n * interval '1 second',
    'phase', case when n % 10 = 0 then 'Error' else w.phase end,
    'status_message', case when n % 10 = 0 then 'The server image cannot be pulled.' else '' end))).*
  from worlds w, generate_series(2, $2::int) n where w.id = $1`
