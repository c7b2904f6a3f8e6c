import type { Client } from 'pg'
import type { Tenant } from '#test/support/tenant.ts'

/** A tenant of its own for each list, and the database. */
type Setting = { readonly tenant: Tenant; readonly database: Client }

/** A filled list: its path and the number of its items. */
export type Filled = {
  readonly path: string
  readonly rows: number
  /** The key that reads it. Default: the platform key. */
  readonly apiKey?: string
  /** The member of the body that has the items. Default: the body itself. */
  readonly member?: string
}

const kib = 1024
/** Enough large rows for several pages. */
const fatRows = 120
const manyRows = 1_000
const text = (bytes: number): string => 'x'.repeat(bytes)
const texts = (count: number, bytes: number): string[] => Array.from({ length: count }, () => text(bytes))

/** 32 KiB with the names. */
const annotations = Object.fromEntries(texts(8, 4 * kib - 2).map((value, at) => [`a${at}`, value]))
const metadata = { annotations, labels: {} }
const largestWorld = {
  name: text(64),
  description: text(256),
  pictureUrl: `https://example.com/${text(2_000)}`,
  metadata,
  // 64 KiB as JSON.
  manifest: { serverPermissions: texts(126, 256), clientPermissions: texts(126, 256) },
  streaming: { okPageUrl: text(2_048), errorPageUrl: text(2_048) },
  sessions: { streamingTicketPredicate: text(1_024) },
}

let filled = 0
/** Copies a row, with other values of some columns by SQL, in which `id` is the id of the copy without its kind. */
const copyRow = async (database: Client, table: string, id: string, times: number, columns: string): Promise<void> => {
  filled += 1
  await database.query(
    `insert into ${table} select (jsonb_populate_record(null::${table}, to_jsonb(t) || jsonb_build_object(${columns}))).*
     from ${table} t, lateral (select lpad((n + ${filled * 10_000})::text, 26, '0') as id from generate_series(1, ${times}) n) c
     where t.id = $1`,
    [id],
  )
}

/** Returns the value of the first column of the only row. */
const read = async (database: Client, query: string, id: string): Promise<string> =>
  Object.values((await database.query(query, [id])).rows[0])[0] as string

/** Sends a request that must succeed. This proves that rows of the size are allowed. */
const ask = async <T>({ rest }: Tenant, method: string, path: string, body?: object): Promise<T> => {
  const answer = await rest.call<T>(method, path, body)
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}

const copiedWorld = `'resource_name', 'wld-' || c.id, 'resource_uid', null, 'applied', null, 'id', 'wld-' || c.id`

/** Fills a project with the largest worlds, Active and perhaps public. */
export const fillWorlds = async (
  { tenant, database }: Setting,
  { isPublic = false, count = fatRows }: { isPublic?: boolean; count?: number } = {},
): Promise<void> => {
  const id = await tenant.world(largestWorld)
  await database.query(`update worlds set phase = 'Active' where id = $1`, [id])
  await database.query('update launch_contexts set is_public = $2 where world_id = $1', [id, isPublic])
  await copyRow(database, 'worlds', id, count - 1, copiedWorld)
  const context = await read(database, 'select id from launch_contexts where world_id = $1', id)
  filled -= 1
  await copyRow(database, 'launch_contexts', context, count - 1, `'id', 'lctx-' || c.id, 'world_id', 'wld-' || c.id`)
}

const worldsAt =
  (path: string, { isPublic = false, ...more }: { isPublic?: boolean; member?: string } = {}) =>
  async (setting: Setting): Promise<Filled> => {
    await fillWorlds(setting, { isPublic })
    return { path, rows: fatRows, ...more }
  }

const audit = async (database: Client, organizationId: string): Promise<void> => {
  await database.query(`delete from audit_records where organization_id = $1`, [organizationId])
  const pointers = JSON.stringify(texts(100, 64))
  await database.query(
    `insert into audit_records select 'aud-' || lpad(n::text, 26, '0'), now(), $1, '', 'rest', 'key', '', 'test', $2, $2, '', ''
     from generate_series(1, ${manyRows}) n`,
    [organizationId, pointers],
  )
}

/** Fills the list of each operation with the largest rows. A test fails for a list that is missing here. */
export const lists: Record<string, (setting: Setting) => Promise<Filled>> = {
  listWorlds: worldsAt('/api/worlds/'),
  listPublicWorlds: worldsAt('/api/worlds/public/', { isPublic: true }),
  listTravelLocations: worldsAt('/api/worlds/travel/locations/', { member: 'worlds' }),
  listDeletedWorlds: async ({ tenant, database }) => {
    const id = await tenant.world(largestWorld)
    await database.query(`update worlds set deleting_at = now(), purge_at = now() + interval '1 day' where id = $1`, [
      id,
    ])
    await copyRow(database, 'worlds', id, fatRows - 1, copiedWorld)
    return { path: '/api/worlds/deleted/', rows: fatRows }
  },
  listBotDeployments: async ({ tenant, database }) => {
    const path = `/api/worlds/${await tenant.world(largestWorld)}/bots/`
    await ask(tenant, 'POST', path, { count: 0, description: text(2_048), args: texts(4, 4 * kib), metadata })
    const [bots] = await ask<{ documentId: string }[]>(tenant, 'GET', path)
    const columns = `'id', 'bot-' || c.id, 'resource_name', 'bot-' || c.id, 'resource_uid', null, 'applied', null`
    await copyRow(database, 'bot_deployments', bots?.documentId ?? '', fatRows - 1, columns)
    return { path, rows: fatRows }
  },
  listOrganizations: async ({ tenant, database }) => {
    const body = {
      name: text(1_024),
      websiteInfo: { headTags: texts(7, 4 * kib) },
      legalPolicies: { eula: texts(2, 64 * kib) },
    }
    const { organizationId } = await ask<{ organizationId: string }>(tenant, 'POST', '/api/organizations/', body)
    await copyRow(database, 'organizations', organizationId, fatRows - 1, `'id', 'org-' || c.id`)
    const { rows } = await database.query('select from organizations')
    return { path: '/api/organizations/', rows: rows.length }
  },
  listProjects: async ({ tenant, database }) => {
    const body = { name: text(1_024) }
    const { projectId } = await ask<{ projectId: string }>(tenant, 'POST', '/api/organizations/projects/', body)
    await copyRow(database, 'projects', projectId, manyRows - 2, `'id', 'prj-' || c.id`)
    return { path: '/api/organizations/projects/', rows: manyRows }
  },
  listApiKeys: async ({ tenant, database }) => {
    const { organization } = tenant.paths
    const permissions = Array.from({ length: 256 }, (_, at) => `${organization}/projects/${text(120)}${at}:r`)
    await ask(tenant, 'POST', '/api/organizations/apiKeys/', { displayName: text(1_024), permissions })
    const id = await read(database, 'select id from api_keys where organization_id = $1', tenant.scope.organizationId)
    await copyRow(database, 'api_keys', id, fatRows - 1, `'id', 'key-' || c.id, 'fingerprint', 'copy ' || c.id`)
    // A reader that may not see the strings, which are sealed for the id of the first key.
    const apiKey = await tenant.key([`${organization}:r`])
    return { path: '/api/organizations/apiKeys/', apiKey, rows: fatRows + 1 }
  },
  listWebhooks: async ({ tenant, database }) => {
    const url = `https://hooks.example.com/${text(1_000 - 26)}`
    const { documentId } = await ask<{ documentId: string }>(tenant, 'POST', '/api/webhooks/', { url })
    await copyRow(database, 'webhooks', documentId, manyRows - 1, `'id', 'whk-' || c.id`)
    return { path: '/api/webhooks/', rows: manyRows }
  },
  listWebhookDeliveries: async ({ tenant, database }) => {
    const url = 'https://hooks.example.com/'
    const { documentId } = await ask<{ documentId: string }>(tenant, 'POST', '/api/webhooks/', { url, isActive: false })
    await database.query(
      `insert into webhook_deliveries (id, organization_id, webhook_id, message_id, type, data, next_attempt_at, created_at)
       select 'dlv-' || lpad(n::text, 26, '0'), $1, $2, 'msg-' || lpad(n::text, 26, '0'), 'webhook.test', $3, now(), now()
       from generate_series(1, ${manyRows}) n`,
      [tenant.scope.organizationId, documentId, JSON.stringify({ text: text(64 * kib) })],
    )
    return { path: `/api/webhooks/${documentId}/deliveries/`, rows: manyRows }
  },
  listWorldEvents: async ({ tenant, database }) => {
    const id = await tenant.world()
    await database.query(
      `insert into world_events select 'evt-' || lpad((n + 1000)::text, 26, '0'), organization_id, project_id, id, now(),
       'Normal', 'Started', $2 from worlds, generate_series(1, 100) n where id = $1`,
      [id, text(32 * kib)],
    )
    return { path: `/api/worlds/${id}/events/`, rows: 100 }
  },
  listBotDeploymentEvents: async ({ tenant, database }) => {
    const path = `/api/worlds/${await tenant.world()}/bots/`
    await ask(tenant, 'POST', path, { count: 0 })
    const [bots] = await ask<{ documentId: string }[]>(tenant, 'GET', path)
    await database.query(
      `insert into bot_events (id, organization_id, project_id, world_id, bot_deployment_id, created_at, type, reason, message)
       select 'evt-' || lpad(n::text, 26, '0'), organization_id, project_id, world_id, id, now(), 'Normal', 'Started', $2
       from bot_deployments, generate_series(1, 100) n where id = $1`,
      [bots?.documentId, text(32 * kib)],
    )
    return { path: `${path}${bots?.documentId}/events/`, rows: 100 }
  },
  listWorldDeployments: async ({ tenant, database }) => {
    const id = await tenant.world()
    await ask(tenant, 'POST', `/api/worlds/${id}/start/`)
    const deployment = await read(database, 'select id from deployments where world_id = $1', id)
    // Only kubectl can set arguments of a world.
    await database.query(
      `update deployments set runtime = runtime || jsonb_build_object('args', $2::jsonb), image = $3 where id = $1`,
      [deployment, JSON.stringify(texts(4, 4 * kib)), text(1_024)],
    )
    await copyRow(database, 'deployments', deployment, manyRows - 1, `'id', 'dep-' || c.id, 'run_id', 'run-' || c.id`)
    return { path: `/api/worlds/${id}/deployments/`, rows: manyRows }
  },
  listAuditRecords: async ({ tenant, database }) => {
    await audit(database, tenant.scope.organizationId)
    return { path: '/api/audit/', rows: manyRows }
  },
  listPlatformAuditRecords: async ({ database }) => {
    await audit(database, '')
    return { path: '/api/audit/platform/', rows: manyRows }
  },
  getSyncStatus: async ({ database }) => {
    await database.query(
      `insert into sync_findings select 'fnd-' || lpad(n::text, 26, '0'), 'elsewhere', 'Orphan', 'world', 'n', 'n', 'u', $1, now()
       from generate_series(1, ${manyRows}) n`,
      [text(16 * kib)],
    )
    return { path: '/api/sync/', rows: manyRows, member: 'findings' }
  },
}
