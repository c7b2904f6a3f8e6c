import { createClient } from '#client/client.ts'
import { inSession } from '#dev/postgres.ts'
import { createIdSource } from '#shared/ids.ts'
import type { Transport } from '#shared/kube/transport.ts'
import { worldResource } from '#shared/resources/group.ts'
import { rootApiKey, type Target } from '../api.ts'
import { watchNamespace } from '../operator/seen.ts'

const limitMs = 600_000
const newId = createIdSource({ now: Date.now })

/** A tenant with worlds. */
export type Place = {
  readonly client: ReturnType<typeof createClient>
  readonly organizationId: string
  readonly projectId: string
  readonly namespace: string
  readonly ids: readonly string[]
}

/** Creates a tenant with worlds, and waits until each has its resource. */
export const fillWorlds = async (
  { api, databaseUrl, transport }: { api: Target; databaseUrl: string; transport: Transport },
  count: number,
): Promise<Place> => {
  const platform = createClient({ baseUrl: api.url, apiKey: rootApiKey })
  const { organizationId } = await platform.createOrganization({ body: { name: 'Bench' } })
  const { projectId } = await platform.in({ organizationId }).createProject({ body: { name: 'Bench' } })
  const client = platform.in({ organizationId, projectId })
  const { worldId: template } = await client.createWorld({ body: { name: 'World', transient: false } })
  const namespace = `orrery-${organizationId}`
  const live = await watchNamespace(transport, worldResource, namespace)
  await live.untilMade(1, limitMs)
  const ids = await insertWorlds(databaseUrl, template, count)
  await live.untilMade(count + 1, limitMs)
  await live.stop()
  return { client, organizationId, projectId, namespace, ids }
}

/** Inserts copies of a world that never ran, marked dirty, in one transaction, as a burst of requests would. Returns their ids. */
export const insertWorlds = async (databaseUrl: string, template: string, count: number): Promise<string[]> => {
  const ids = Array.from({ length: count }, () => newId('world'))
  await inSession(databaseUrl, async (sql) => {
    await sql.query('begin')
    await sql.query(
      `insert into worlds select made.* from worlds w, unnest($2::text[]) x,
        jsonb_populate_record(null::worlds, to_jsonb(w) || jsonb_build_object(
          'id', x, 'resource_name', x, 'resource_uid', null, 'applied', null, 'applied_resource_version', null,
          'state', 'Stopped', 'phase', 'Inactive', 'run_id', null, 'started_at', null, 'started_with', null, 'granted', null,
          'address', null, 'idle', null)) made
        where w.id = $1`,
      [template, ids],
    )
    await sql.query(
      `insert into launch_contexts select made.* from launch_contexts l, unnest($2::text[]) x,
        jsonb_populate_record(null::launch_contexts, to_jsonb(l) || jsonb_build_object(
          'id', replace(x, 'wld-', 'ctx-'), 'world_id', x)) made
        where l.world_id = $1`,
      [template, ids],
    )
    await sql.query(
      `insert into cluster_outbox (kind, id, revision, next_at) select 'world', x, 1, now() from unnest($1::text[]) x`,
      [ids],
    )
    await sql.query('commit')
  })
  return ids
}
