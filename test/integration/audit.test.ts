import { and, eq } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Endpoint } from '#api/domain/endpoint/endpoint.ts'
import { endpoints } from '#api/endpoints.ts'
import { auditRecords } from '#api/platform/audit/table.ts'
import { newestFirst, whereBeforeCursor } from '#api/platform/database/page.ts'
import { apiRoleUrl, inSession } from '#dev/postgres.ts'
import { idOfUid } from '#shared/ids.ts'
import { groupVersion } from '#shared/resources/group.ts'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, rootApiKey, startApi, startOperator } from '#test/support/processes.ts'
import { type Answer, createRest, send } from '#test/support/rest.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

type AuditRecord = {
  id: string
  createdAt: string
  organizationId: string
  projectId?: string
  door: string
  actor: { kind: string; id?: string }
  action: string
  resources: string[]
  fields: string[]
  address?: string
  requestId?: string
}

let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>
let databaseUrl: string
const cluster = aCluster()
beforeAll(async () => {
  databaseUrl = await aDatabase()
  const settings = { ORRERY_LIMIT_STARTS_PER_MINUTE: '100000' }
  ;[api, operator] = await Promise.all([startApi({ databaseUrl, settings }), startOperator()])
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop()])
  await cluster.close()
})

const recordsOf = async ({ rest }: Pick<Tenant, 'rest'>, query = ''): Promise<AuditRecord[]> =>
  (await rest.call<AuditRecord[]>('GET', `/api/audit/${query}`)).body

const png = new Uint8Array(
  await sharp({ create: { width: 4, height: 4, channels: 3, background: 'red' } })
    .png()
    .toBuffer(),
)
const document = { data: { key: 'k', store: 'kvstoreClient', data: 'SECRET' } }

/** A valid request of every writing endpoint, in an order in which all succeed. The value is the body. */
const writes: Record<string, (tenant: Tenant) => unknown> = {
  createOrganization: () => ({ name: 'Other' }),
  patchOrganization: () => ({ name: 'Renamed' }),
  patchOrganizationById: () => ({ name: 'Renamed again' }),
  putOrganizationPicture: () => png,
  putOrganizationPictureById: () => png,
  patchLimits: () => ({ maxWorlds: 9 }),
  createApiKey: ({ paths }) => ({ displayName: 'Mine', permissions: [`${paths.organization}:r`] }),
  patchApiKey: () => ({ displayName: 'Renamed' }),
  rotateApiKey: () => ({ overlapSeconds: 0 }),
  deleteApiKey: () => undefined,
  createToken: () => ({ durationMinutes: 1 }),
  revokeToken: () => undefined,
  putGroups: ({ paths }) => ({
    groups: [{ issuer: 'https://id.example.com', group: 'SECRET', permissions: [`${paths.organization}/**:r`] }],
  }),
  createProject: () => ({ name: 'Other' }),
  patchProject: () => ({ name: 'Renamed' }),
  createWebhook: () => ({ url: 'https://hooks.example.com/SECRET' }),
  patchWebhook: () => ({ events: ['world.phase_changed'] }),
  rotateWebhook: () => ({ overlapSeconds: 0 }),
  testWebhook: () => undefined,
  redeliverWebhook: () => undefined,
  deleteWebhook: () => undefined,
  putBuild: () => ({ image: 'registry.example/mine:1', contentId: 'mine' }),
  deleteBuild: () => undefined,
  createWorld: () => ({ name: 'Lobby', transient: false }),
  patchWorld: () => ({
    name: 'Renamed',
    runtime: { mapName: 'hall' },
    metadata: { labels: { SECRET: 'x' }, annotations: {} },
  }),
  putWorldPicture: () => png,
  startWorld: () => undefined,
  createBotDeployment: () => ({ count: 1 }),
  patchBotDeployment: () => ({ count: 2 }),
  deleteBotDeployment: () => undefined,
  putKvStore: () => document,
  deleteKvStore: () => undefined,
  putCollection: () => ({ data: { userId: 'u', datasourceId: 'd', userCollection: [] } }),
  deleteCollection: () => undefined,
  putLiveConfig: () => ({ data: { id: 'i', config: {} } }),
  deleteLiveConfig: () => undefined,
  stopWorld: () => undefined,
  deleteWorld: () => undefined,
  restoreWorld: () => undefined,
  purgeWorld: () => undefined,
  deleteProject: () => undefined,
  restoreProject: () => undefined,
  purgeProject: () => undefined,
  deleteOrganization: () => undefined,
  restoreOrganization: () => undefined,
  purgeOrganization: () => undefined,
}

/** The steps that make the next write possible. They leave records of their own, with other request ids. */
const preparations: Record<string, (tenant: Tenant, ids: Record<string, string>) => Promise<unknown>> = {
  restoreWorld: ({ rest }) =>
    eventually('the world can be restored', async () => {
      const { body } = await rest.call<{ isRestorable: boolean }[]>('GET', '/api/worlds/deleted/')
      return body[0]?.isRestorable
    }),
  purgeWorld: ({ rest }, { worldId }) => rest.call('DELETE', `/api/worlds/${worldId}/`),
  purgeProject: ({ rest }) => rest.call('DELETE', '/api/organizations/projects/current/'),
  purgeOrganization: ({ rest, scope }) => rest.call('DELETE', `/api/organizations/${scope.organizationId}/`),
}
/**
 * An endpoint with a body that changes nothing, one that leaves a record for each world (contract/bulk.test.ts), one that needs a
 * world that sleeps (wake.test.ts), and one that leaves none (realtime/tickets.test.ts). A sign-in needs an issuer (signIn.test.ts).
 */
const others = ['resolveBuildAndContent', 'actOnWorlds', 'wakeWorld', 'createRealtimeTicket']
const writing = endpoints.filter(
  ({ method, operationId, tag }) => method !== 'get' && tag !== 'Sign-in' && !others.includes(operationId),
)

/** A tenant, with a key that has full access to it, and the ids that paths name. */
const aCaller = async () => {
  const tenant = await aTenant(api.url)
  const apiKey = await tenant.key([`${tenant.paths.organization}/**:*`], { claims: { worldServer: true } })
  const keys = await tenant.rest.call<{ documentId: string }[]>('GET', '/api/organizations/apiKeys/')
  const names = { channelId: 'main', tag: 'v1', userId: 'user-7', id: 'document-1' }
  const ids: Record<string, string> = { ...tenant.scope, ...names }
  return { tenant, apiKey, ids, actor: { kind: 'key', id: keys.body[0]?.documentId } }
}
type Caller = Awaited<ReturnType<typeof aCaller>>

/** Operations that need the platform key. */
const platformOperations = [
  ...['createOrganization', 'patchLimits', 'deleteOrganization', 'restoreOrganization', 'purgeOrganization'],
]
/** Operations after which no request can read the organization's records. */
const endingOperations = ['deleteOrganization', 'purgeOrganization']

/** Returns the records of a request from their table. */
const recordsInTable = (requestId: string): Promise<AuditRecord[]> =>
  inSession(databaseUrl, async (sql) => {
    const shown = `jsonb_build_object('organizationId', organization_id, 'door', door, 'action', action,
      'actor', jsonb_build_object('kind', actor_kind, 'id', actor_id), 'resources', resources, 'fields', fields,
      'address', address, 'requestId', request_id)::text as record`
    const { rows } = await sql.query(`select ${shown} from audit_records where request_id = $1`, [requestId])
    return rows.map(({ record }) => JSON.parse(String(record)) as AuditRecord)
  })

const sendWrite = ({ tenant, apiKey, ids }: Caller, { operationId, method, path }: Endpoint) => {
  const body = writes[operationId]?.(tenant)
  const isPicture = body instanceof Uint8Array
  return send(api.url, {
    method: method.toUpperCase(),
    path: path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? name),
    headers: {
      'x-request-id': `audit-${operationId}`,
      'x-api-key': platformOperations.includes(operationId) ? rootApiKey : apiKey,
      'x-svc-organization-id': tenant.scope.organizationId,
      'x-svc-project-id': tenant.scope.projectId,
      ...(body === undefined ? {} : { 'content-type': isPicture ? 'image/png' : 'application/json' }),
    },
    ...(body === undefined ? {} : { body: isPicture ? new Uint8Array(body) : JSON.stringify(body) }),
  })
}

/** Sends a write, notes the ids that it created, and returns its records. */
const recordsOfWrite = async (caller: Caller, endpoint: Endpoint): Promise<AuditRecord[]> => {
  const { operationId } = endpoint
  await preparations[operationId]?.(caller.tenant, caller.ids)
  const answer = await sendWrite(caller, endpoint)
  const said = answer.status < 300 ? '' : answer.text
  expect([operationId, answer.status, said]).toEqual([operationId, endpoint.status ?? 200, ''])
  const created = (answer.text === '' ? {} : JSON.parse(answer.text)) as Record<string, string>
  const { organizationId, ...ids } = created
  Object.assign(caller.ids, ids, {
    botDeploymentId: answer.headers.get('location')?.match(/bot-[0-9a-z]{26}/)?.[0] ?? caller.ids.botDeploymentId,
  })
  const scope = operationId === 'createOrganization' ? { organizationId: organizationId ?? '' } : caller.tenant.scope
  const records = endingOperations.includes(operationId)
    ? await recordsInTable(`audit-${operationId}`)
    : await recordsOf({ rest: createRest(api.url, scope) }, `?action=${operationId}`)
  const own = records.filter(({ requestId }) => requestId === `audit-${operationId}`)
  for (const record of own) expect(record.organizationId).toBe(scope.organizationId)
  if (operationId === 'createApiKey') caller.ids.apiKeyId = own[0]?.resources[0] ?? ''
  if (operationId === 'createWebhook') caller.ids.webhookId = created.documentId ?? ''
  if (operationId === 'testWebhook') caller.ids.deliveryId = created.id ?? ''
  return own
}

describe('every writing endpoint', () => {
  test('is in the list of this test', () => {
    expect(Object.keys(writes).sort()).toEqual(writing.map(({ operationId }) => operationId).sort())
  })

  test('leaves exactly one record, with the caller, the address and the request id, and without a value', async () => {
    const caller = await aCaller()
    for (const operationId of Object.keys(writes)) {
      const endpoint = writing.find((each) => each.operationId === operationId) as Endpoint
      const records = await recordsOfWrite(caller, endpoint)
      expect([operationId, records.length]).toEqual([operationId, 1])
      const actor = platformOperations.includes(operationId) ? { kind: 'platform' } : caller.actor
      expect(records[0]).toMatchObject({ door: 'rest', action: operationId, actor, address: '127.0.0.1' })
      const inPath = [...endpoint.path.matchAll(/\{(\w+)\}/g)].flatMap(([, name = '']) => caller.ids[name] ?? '')
      expect(records[0]?.resources).toEqual(expect.arrayContaining(inPath.filter((id) => !id.startsWith('org-'))))
    }
    const [patched] = await recordsInTable('audit-patchWorld')
    expect(patched?.fields.sort()).toEqual(['/metadata/annotations', '/metadata/labels', '/name', '/runtime/mapName'])
    await inSession(databaseUrl, async (sql) => {
      const { rows } = await sql.query('select to_jsonb(t) as row from audit_records t')
      expect(JSON.stringify(rows)).not.toMatch(/SECRET|ork_|whsec_/)
    })
  })

  test('leaves no record when it is refused or replayed', async () => {
    const tenant = await aTenant(api.url)
    const headers = { 'idempotency-key': 'once' }
    const body = { name: 'Lobby', transient: false }
    const first = await tenant.rest.call<{ worldId: string }>('POST', '/api/worlds/', body, headers)
    const again = await tenant.rest.call<{ worldId: string }>('POST', '/api/worlds/', body, headers)
    expect(again.body).toEqual(first.body)
    const path = `/api/worlds/${first.body.worldId}/`
    expect((await tenant.rest.call('PATCH', path, { name: 'Late' }, { 'if-match': '"99.0"' })).status).toBe(412)
    expect((await recordsOf(tenant, `?resource=${first.body.worldId}`)).map(({ action }) => action)).toEqual([
      'createWorld',
    ])
  })
})

describe('readings of key strings', () => {
  test('by a replayed request leave a record with the id of the key', async () => {
    const tenant = await aTenant(api.url)
    const headers = { 'idempotency-key': 'one-key' }
    const body = { displayName: 'Replayed', permissions: [] }
    const create = () => tenant.rest.call<{ apiKey: string }>('POST', '/api/organizations/apiKeys/', body, headers)
    const first = await create()
    expect((await create()).body).toEqual(first.body)
    const records = await recordsOf(tenant)
    const [created] = records.filter(({ action }) => action === 'createApiKey')
    const readings = records.filter(({ action }) => action === 'readApiKeyStrings')
    expect(readings).toMatchObject([{ resources: created?.resources }])
  })

  test('leave a record with the ids of the keys, and masked readings leave none', async () => {
    const tenant = await aTenant(api.url)
    await tenant.key([`${tenant.paths.organization}/**:*`])
    const keys = await tenant.rest.call<{ documentId: string }[]>('GET', '/api/organizations/apiKeys/')
    const reader = await tenant.withKey([`${tenant.paths.organization}:r`])
    await reader.call('GET', '/api/organizations/apiKeys/')
    const readings = await recordsOf(tenant, '?action=readApiKeyStrings')
    expect(readings).toMatchObject([{ actor: { kind: 'platform' }, resources: [keys.body[0]?.documentId] }])
  })
})

test('a reading of more than 32 key strings shows all, and its record names the first and the last key', async () => {
  const tenant = await aTenant(api.url)
  for (let at = 0; at < 40; at += 1) await tenant.key([`${tenant.paths.organization}:r`])
  const keys = await tenant.rest.call<{ documentId: string; keyString: string }[]>('GET', '/api/organizations/apiKeys/')
  expect(new Set(keys.body.map(({ keyString }) => keyString)).size).toBe(40)
  const [reading] = await recordsOf(tenant, '?action=readApiKeyStrings')
  expect(reading?.resources).toEqual([keys.body.at(0)?.documentId, keys.body.at(-1)?.documentId])
})

describe('GET /api/audit/', () => {
  test('needs the verb * on the organization, and shows no record of another one', async () => {
    const [tenant, other] = [await aTenant(api.url), await aTenant(api.url)]
    const writer = await tenant.withKey([`${tenant.paths.organization}/**:w`])
    expect((await writer.call('GET', '/api/audit/')).status).toBe(403)
    const foreign = createRest(api.url, other.scope, await tenant.key([`${tenant.paths.organization}/**:*`]))
    expect((await foreign.call('GET', '/api/audit/')).status).toBe(404)
    const organizations = (await recordsOf(tenant)).map(({ organizationId }) => organizationId)
    expect(new Set(organizations)).toEqual(new Set([tenant.scope.organizationId]))
  })

  test('filters by time, door, actor, action and resource, in pages with the newest first', async () => {
    const tenant = await aTenant(api.url)
    const worlds = [await tenant.world(), await tenant.world(), await tenant.world()]
    const all = await recordsOf(tenant, '?action=createWorld')
    expect(all.map(({ resources }) => resources[0])).toEqual([...worlds].reverse())
    const [newest, , oldest] = all
    expect(await recordsOf(tenant, `?resource=${worlds[1]}`)).toEqual([all[1]])
    expect(await recordsOf(tenant, `?until=${oldest?.createdAt}&action=createWorld`)).toEqual([])
    expect((await recordsOf(tenant, `?since=${newest?.createdAt}`)).map(({ id }) => id)).toContain(newest?.id)
    expect(await recordsOf(tenant, '?door=kubectl')).toEqual([])
    expect(await recordsOf(tenant, '?actor=nobody')).toEqual([])
    const seen: string[] = []
    let path: string | undefined = '/api/audit/?action=createWorld&limit=1'
    while (path !== undefined) {
      const page: Answer<AuditRecord[]> = await tenant.rest.call('GET', path)
      seen.push(...page.body.map(({ id }) => id))
      path = /<([^>]+)>/.exec(page.headers.get('link') ?? '')?.[1]
    }
    expect(seen).toEqual(all.map(({ id }) => id))
  })
})

test.each(['door=kubectl', 'actor=manager', 'action=patchBuild', 'resource=bld-1'])(
  'a page with the filter %s compares 1,000 records, and its link leads to the others',
  async (filter) => {
    const tenant = await aTenant(api.url)
    const { organizationId } = tenant.scope
    await inSession(databaseUrl, async (sql) => {
      // The newest is the last of 2,500, and two match: the first and the last that the first page compares.
      await sql.query(
        `insert into audit_records
       select 'aud-' || lpad(at::text, 26, '0'), date_trunc('milliseconds', now()) + at * interval '1 minute' / 1000, $1, '',
         case when matches then 'kubectl' else 'rest' end, 'manager', case when matches then 'manager' else 'other' end,
         case when matches then 'patchBuild' else 'other' end, jsonb_build_array(case when matches then 'bld-1' else 'other' end),
         '[]', '', ''
       from (select at, at in (1, 1501, 2000) as matches from generate_series(1, 2500) at) numbered`,
        [organizationId],
      )
    })
    const pages: string[][] = []
    let path: string | undefined = `/api/audit/?${filter}`
    while (path !== undefined) {
      const page: Answer<AuditRecord[]> = await tenant.rest.call('GET', path)
      expect(page.status).toBe(200)
      pages.push(page.body.map(({ id }) => String(Number(id.slice(4)))))
      path = /<([^>]+)>/.exec(page.headers.get('link') ?? '')?.[1]
    }
    expect(pages).toEqual([['2000', '1501'], [], ['1']])
  },
)

test('the page after a position reads no record before it', async () => {
  const tenant = await aTenant(api.url)
  const { organizationId } = tenant.scope
  const plan = await inSession(databaseUrl, async (sql) => {
    await sql.query(
      `insert into audit_records select 'aud-' || at, now() + at * interval '1 ms', $1, '', 'rest', 'key', '', '', '[]', '[]', '', ''
       from generate_series(1, 20000) at`,
      [organizationId],
    )
    await sql.query('analyze audit_records')
    const query = drizzle({ client: sql, casing: 'snake_case' })
      .select({ id: auditRecords.id })
      .from(auditRecords)
      .where(
        and(
          eq(auditRecords.organizationId, organizationId),
          whereBeforeCursor(auditRecords, { limit: 1, after: { createdAt: new Date(), id: 'aud-1' } }),
        ),
      )
      .orderBy(...newestFirst(auditRecords))
      .limit(1)
    const { sql: text, params } = query.toSQL()
    const { rows } = await sql.query<Record<string, string>>(`explain (analyze, costs off) ${text}`, params)
    return rows.map((row) => row['QUERY PLAN']).join('\n')
  })
  expect(plan).not.toContain('Rows Removed by Filter')
})

describe('the records', () => {
  test.each([
    ['update', `update audit_records set actor_id = 'other'`],
    ['delete', 'delete from audit_records'],
    ['truncate', 'truncate audit_records'],
    ['drop', 'drop table audit_records'],
    ['delete of a partition', 'delete from audit_records_default'],
  ])('cannot be changed by the role of the API: %s', async (_, statement) => {
    await inSession(apiRoleUrl(databaseUrl), async (sql) => {
      await expect(sql.query(statement)).rejects.toThrow(/permission denied|must be owner/)
    })
  })

  test('are in a partition of the week, and dropped after the retention', async () => {
    const own = await aDatabase()
    const partitions = async () =>
      inSession(own, async (sql) => {
        const { rows } = await sql.query<{ name: string }>(
          `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'audit_records'::regclass order by 1`,
        )
        return rows.map(({ name }) => name)
      })
    const settings = { ORRERY_AUDIT_RETENTION_DAYS: '7' }
    await (await startApi({ databaseUrl: own, settings })).stop()
    const present = await partitions()
    expect(present).toHaveLength(4)
    expect(present).toContain('audit_records_default')
    const expired = 'audit_records_t202601010000'
    await inSession(own, (sql) =>
      sql.query(
        `create table ${expired} partition of audit_records for values from ('2026-01-01Z') to ('2026-01-08Z')`,
      ),
    )
    const second = await startApi({ databaseUrl: own, settings })
    await eventually('the expired partition is gone', async () => !(await partitions()).includes(expired))
    await second.stop()
    expect(await partitions()).toEqual(present)
  })
})

test('repeated writes of a document leave a record for each caller and a minute', async () => {
  const tenant = await aTenant(api.url)
  const keys = await Promise.all(['w', '*'].map((verb) => tenant.key([`${tenant.paths.organization}/**:${verb}`])))
  const put = async (key: string, id: string): Promise<void> => {
    const path = `/api/documents/kvStore/${id}/`
    expect((await createRest(api.url, tenant.scope, key).call('PUT', path, document)).status).toBe(200)
  }
  for (let count = 0; count < 10; count += 1) for (const key of keys) await put(key, 'score')
  await put(keys[0] ?? '', 'other')
  const records = await recordsOf(tenant, '?action=putKvStore')
  // The minute may end between two writes.
  expect(records.length).toBeLessThanOrEqual(6)
  const named = records.map(({ actor, resources }) => [actor.id, ...resources].join(' '))
  expect(new Set(named).size).toBe(3)
})

describe('a change with kubectl', () => {
  const recordOf = (tenant: Tenant, id: string, action: string) =>
    eventually(`the record of ${action}`, async () => {
      const records = await recordsOf(tenant, `?resource=${id}&action=${action}`)
      return records[0] && { ...records[0], count: records.length }
    })

  test('leaves one record with the field manager and the fields, and without a value', async () => {
    const tenant = await aTenant(api.url)
    const namespace = `orrery-${tenant.scope.organizationId}`
    const id = await tenant.world()
    await cluster.world(namespace, id).exists()
    const spec = { displayName: 'SECRET', metadata: { labels: { SECRET: 'x' } } }
    const patch = ['--type=merge', '--field-manager=gitops', '-p', JSON.stringify({ spec })]
    await cluster.kubectl('-n', namespace, 'patch', 'world', id, ...patch)
    expect(await recordOf(tenant, id, 'patchWorld')).toMatchObject({
      door: 'kubectl',
      actor: { kind: 'manager', id: 'gitops' },
      fields: ['/displayName', '/metadata/labels'],
      count: 1,
    })
    await cluster.kubectl('-n', namespace, 'delete', 'world', id, '--wait=false')
    expect(await recordOf(tenant, id, 'deleteWorld')).toMatchObject({ door: 'kubectl', actor: { kind: 'manager' } })
  })

  test('that creates a World leaves one record', async () => {
    const tenant = await aTenant(api.url)
    const namespace = `orrery-${tenant.scope.organizationId}`
    await cluster.world(namespace, await tenant.world()).exists()
    const labels = { 'orrery.dev/project': tenant.scope.projectId }
    const metadata = { namespace, name: 'by-hand', labels }
    const made = await cluster.worlds.create({ apiVersion: groupVersion, kind: 'World', metadata, spec: {} })
    const id = idOfUid('world', made.metadata.uid ?? '')
    expect(await recordOf(tenant, id, 'createWorld')).toMatchObject({ door: 'kubectl', count: 1 })
  })
})
