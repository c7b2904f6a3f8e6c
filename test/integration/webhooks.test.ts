import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { purgeDeleted } from '#api/domain/deletion/purge.ts'
import { organizations } from '#api/domain/organizations/table.ts'
import { webhookDeliveries, webhooks } from '#api/domain/webhooks/table.ts'
import { openDatabase } from '#api/platform/database/client.ts'
import { inSession } from '#dev/postgres.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { createRest } from '#test/support/rest.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'
import { hasSignature, receiverHost, startWebhookReceiver } from '#test/support/webhookReceiver.ts'

type Webhook = {
  documentId: string
  secret: string
  isActive: boolean
  failingSince?: string
  disabledReason?: string
}
type Delivery = {
  id: string
  messageId: string
  type: string
  status: string
  attempts: number
  createdAt: string
  lastAttemptAt?: string
  nextAttemptAt?: string
  statusCode?: number
  failure?: string
  error?: string
}

let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>
let databaseUrl: string
let api: ApiProcess
const failures = new Map<string, number>()
let isHolding = false

beforeAll(async () => {
  receiver = await startWebhookReceiver((path, response) => {
    if (path === '/redirect') return response.writeHead(302, { location: receiver.urlOf('/target') }).end('secret')
    if (path === '/gone') return response.writeHead(410).end()
    if (path === '/large') return response.end('x'.repeat(1_000_000))
    if (path === '/held' && isHolding) return
    const left = failures.get(path) ?? 0
    failures.set(path, left - 1)
    response.writeHead(left > 0 ? 500 : 204).end()
  })
  databaseUrl = await aDatabase()
  api = await startApi({ databaseUrl, settings: settings() })
})
afterAll(async () => {
  await api?.stop()
  await receiver?.close()
})

const settings = () => ({
  ...receiver.settings,
  ORRERY_WEBHOOK_TIMEOUT_MS: '2000',
  ORRERY_LIMIT_REQUESTS_PER_SECOND: '1000',
  ORRERY_LIMIT_REQUEST_BURST: '1000',
})

const create = async ({ rest }: Tenant, path: string, more: object = {}) => {
  const answer = await rest.call<Webhook>('POST', '/api/webhooks/', { url: receiver.urlOf(path), ...more })
  expect(answer).toMatchObject({ status: 200 })
  return answer.body
}
const deliveriesOf = async ({ rest }: Tenant, { documentId }: Webhook, query = '') =>
  (await rest.call<Delivery[]>('GET', `/api/webhooks/${documentId}/deliveries/${query}`)).body
const readWebhook = async ({ rest }: Tenant, { documentId }: Webhook) =>
  (await rest.call<Webhook>('GET', `/api/webhooks/${documentId}/`)).body
const sendTest = ({ rest }: Tenant, { documentId }: Webhook) =>
  rest.call<Delivery>('POST', `/api/webhooks/${documentId}/test/`)
const settled = (tenant: Tenant, webhook: Webhook, status: string) =>
  eventually(`a delivery is ${status}`, async () =>
    (await deliveriesOf(tenant, webhook)).find((each) => each.status === status),
  )
/** Waits until the first attempt of a webhook's newest delivery has failed. */
const failed = (tenant: Tenant, webhook: Webhook) =>
  eventually('an attempt failed', async () => (await deliveriesOf(tenant, webhook)).find(({ failure }) => failure))

describe('a message', () => {
  test('is delivered with a valid signature for each change of a phase and of a key', async () => {
    const tenant = await aTenant(api.url)
    const { organizationId, projectId } = tenant.scope
    const webhook = await create(tenant, '/all')
    const worldId = await tenant.world()
    await tenant.rest.call('POST', `/api/worlds/${worldId}/start/`)
    await tenant.rest.call('POST', `/api/worlds/${worldId}/stop/`)
    await tenant.key([`${tenant.paths.organization}:r`])
    const keys = await tenant.rest.call<{ documentId: string }[]>('GET', '/api/organizations/apiKeys/')
    const apiKeyId = keys.body[0]?.documentId
    await tenant.rest.call('PATCH', `/api/organizations/apiKeys/${apiKeyId}/`, { isActive: false })
    await tenant.rest.call('DELETE', `/api/organizations/apiKeys/${apiKeyId}/`)
    await eventually('all messages have arrived', async () => receiver.of('/all').length >= 5)
    const messages = receiver.of('/all').toSorted((a, b) => a.body.timestamp.localeCompare(b.body.timestamp))
    const world = { organizationId, projectId, worldId, runId: expect.stringMatching(/^run-/) }
    expect(messages.map(({ body: { type, data } }) => [type, data])).toEqual([
      ['world.phase_changed', { ...world, previousPhase: 'Inactive', phase: 'Starting' }],
      ['world.phase_changed', { ...world, previousPhase: 'Starting', phase: 'Stopped' }],
      ['api_key.created', { organizationId, apiKeyId, isActive: true }],
      ['api_key.updated', { organizationId, apiKeyId, isActive: false }],
      ['api_key.deleted', { organizationId, apiKeyId }],
    ])
    for (const message of messages) {
      expect(message.body.version).toBe(1)
      expect(message.headers['content-type']).toBe('application/json')
      expect(hasSignature(message, webhook.secret)).toBe(true)
      expect(hasSignature({ ...message, text: `${message.text} ` }, webhook.secret)).toBe(false)
    }
    const deliveries = await eventually('all are recorded', async () => {
      const all = await deliveriesOf(tenant, webhook)
      return all.every(({ status }) => status === 'Delivered') && all
    })
    expect(deliveries.map(({ messageId }) => messageId).toSorted()).toEqual(
      messages.map(({ headers }) => headers['webhook-id']).toSorted(),
    )
    expect(deliveries[0]).toMatchObject({ attempts: 1, statusCode: 204 })
  })

  test('is sent for each change of the phase of a bot deployment', async () => {
    const tenant = await aTenant(api.url)
    const webhook = await create(tenant, '/bots')
    const worldId = await tenant.world()
    await tenant.rest.call('POST', `/api/worlds/${worldId}/bots/`, { count: 1 })
    await inSession(databaseUrl, async (sql) => {
      await sql.query(`update bot_deployments set phase = 'Running' where world_id = $1`, [worldId])
    })
    await settled(tenant, webhook, 'Delivered')
    expect(receiver.of('/bots').map(({ body }) => body)).toMatchObject([
      { type: 'bot_deployment.phase_changed', data: { worldId, previousPhase: 'Pending', phase: 'Running' } },
    ])
  })

  test('is verified by the program of docs/webhooks.md, which refuses other content, secrets and times', async () => {
    const tenant = await aTenant(api.url)
    const webhook = await create(tenant, '/documented')
    await sendTest(tenant, webhook)
    await settled(tenant, webhook, 'Delivered')
    const [message] = receiver.of('/documented')
    const [, code = ''] = /```js\n([\s\S]*?)```/.exec(readFileSync('docs/webhooks.md', 'utf8')) ?? []
    const file = join(mkdtempSync(join(tmpdir(), 'orrery-verify-')), 'verify.mjs')
    writeFileSync(file, code)
    type Verify = (secret: string, headers: object, body: string, nowSeconds?: number) => unknown
    const { verify } = (await import(pathToFileURL(file).href)) as { verify: Verify }
    const { headers = {}, text = '', body } = message ?? {}
    expect(verify(webhook.secret, headers, text)).toEqual(body)
    expect(() => verify(webhook.secret, headers, `${text} `)).toThrow('not valid')
    expect(() => verify(`whsec_${Buffer.alloc(32).toString('base64')}`, headers, text)).toThrow('not valid')
    expect(() => verify(webhook.secret, headers, text, Date.now() / 1_000 + 600)).toThrow('too old')
    expect(() => verify(webhook.secret, { ...headers, 'webhook-timestamp': 'x' }, text)).toThrow('too old')
  })

  test('goes only to webhooks that select its type, and to none that is inactive', async () => {
    const tenant = await aTenant(api.url)
    const selecting = await create(tenant, '/selecting', { events: ['api_key.created'] })
    const other = await create(tenant, '/other', { events: ['api_key.deleted', 'world.phase_changed'] })
    const inactive = await create(tenant, '/inactive', { isActive: false })
    await tenant.key([`${tenant.paths.organization}:r`])
    await settled(tenant, selecting, 'Delivered')
    expect(await deliveriesOf(tenant, other)).toEqual([])
    expect(await deliveriesOf(tenant, inactive)).toEqual([])
    expect((await sendTest(tenant, inactive)).status).toBe(409)
  })

  test('is sent again with the same id after a 500, not before the delay', async () => {
    const tenant = await aTenant(api.url)
    failures.set('/flaky', 1)
    const webhook = await create(tenant, '/flaky')
    await sendTest(tenant, webhook)
    const first = await failed(tenant, webhook)
    expect(first).toMatchObject({ status: 'Pending', attempts: 1, statusCode: 500, failure: 'ErrorStatus' })
    const waitMs = Date.parse(first.nextAttemptAt ?? '') - Date.parse(first.lastAttemptAt ?? '')
    expect(waitMs).toBeGreaterThanOrEqual(5_000)
    expect(waitMs).toBeLessThanOrEqual(6_000)
    expect((await readWebhook(tenant, webhook)).failingSince).toBeDefined()
    const last = await settled(tenant, webhook, 'Delivered')
    expect(last).toMatchObject({ attempts: 2, statusCode: 204 })
    expect(last.failure).toBeUndefined()
    expect((await readWebhook(tenant, webhook)).failingSince).toBeUndefined()
    const [one, two] = receiver.of('/flaky')
    expect(two?.headers['webhook-id']).toBe(one?.headers['webhook-id'])
    expect(two?.text).toBe(one?.text)
    expect(Date.parse(last.lastAttemptAt ?? '')).toBeGreaterThanOrEqual(Date.parse(first.nextAttemptAt ?? ''))
  })

  test('has the signatures of both secrets during the overlap of a rotation, and then of the new one', async () => {
    const tenant = await aTenant(api.url)
    const webhook = await create(tenant, '/rotated')
    const rotate = (overlapSeconds: number) =>
      tenant.rest.call<{ secret: string }>('POST', `/api/webhooks/${webhook.documentId}/rotate/`, { overlapSeconds })
    const second = (await rotate(3_600)).body.secret
    await sendTest(tenant, webhook)
    await eventually('the first arrived', async () => receiver.of('/rotated').length === 1)
    const third = (await rotate(0)).body.secret
    await sendTest(tenant, webhook)
    await eventually('the second arrived', async () => receiver.of('/rotated').length === 2)
    const signedWith = receiver
      .of('/rotated')
      .map((message) => [webhook.secret, second, third].map((secret) => hasSignature(message, secret)))
    expect(signedWith).toEqual([
      [true, true, false],
      [false, false, true],
    ])
  })

  test('can be sent again by its owner', async () => {
    const tenant = await aTenant(api.url)
    const webhook = await create(tenant, '/again')
    await sendTest(tenant, webhook)
    const { id, messageId } = await settled(tenant, webhook, 'Delivered')
    const again = await tenant.rest.call<Delivery>(
      'POST',
      `/api/webhooks/${webhook.documentId}/deliveries/${id}/redeliver/`,
    )
    expect(again).toMatchObject({ status: 200, body: { id, messageId, status: 'Pending', attempts: 0 } })
    await eventually('it arrived twice', async () => receiver.of('/again').length === 2)
    expect(new Set(receiver.of('/again').map(({ headers }) => headers['webhook-id']))).toEqual(new Set([messageId]))
  })

  test('survives a killed API: it is delivered at least once', async () => {
    const tenant = await aTenant(api.url)
    const webhook = await create(tenant, '/held')
    isHolding = true
    await sendTest(tenant, webhook)
    await eventually('the attempt is under way', async () => receiver.of('/held').length === 1)
    api.signal('SIGKILL')
    await api.exited
    isHolding = false
    api = await startApi({ databaseUrl, settings: settings() })
    await eventually('it is sent again', async () => receiver.of('/held').length === 2)
    const [one, two] = receiver.of('/held')
    expect(two?.headers['webhook-id']).toBe(one?.headers['webhook-id'])
    const after = { ...tenant, rest: createRest(api.url, tenant.scope) }
    expect(await settled(after, webhook, 'Delivered')).toMatchObject({ attempts: 2 })
  })

  test('of a change that is rolled back does not exist', async () => {
    const tenant = await aTenant(api.url)
    const webhook = await create(tenant, '/rollback')
    const worldId = await tenant.world()
    const changePhase = (end: 'commit' | 'rollback') =>
      inSession(databaseUrl, async (sql) => {
        await sql.query('begin')
        await sql.query(`update worlds set phase = 'Error' where id = $1`, [worldId])
        const { rows } = await sql.query('select id from webhook_deliveries where webhook_id = $1', [
          webhook.documentId,
        ])
        await sql.query(end)
        return rows.length
      })
    expect(await changePhase('rollback')).toBe(1)
    expect(await deliveriesOf(tenant, webhook)).toEqual([])
    expect(await changePhase('commit')).toBe(1)
    expect(await deliveriesOf(tenant, webhook)).toHaveLength(1)
  })
})

describe('an address', () => {
  test('behind a redirect gets no request, and the answer is not shown', async () => {
    const tenant = await aTenant(api.url)
    const webhook = await create(tenant, '/redirect')
    await sendTest(tenant, webhook)
    const delivery = await failed(tenant, webhook)
    expect(delivery).toMatchObject({ failure: 'Redirect', statusCode: 302 })
    expect(JSON.stringify(delivery)).not.toContain('secret')
    expect(receiver.of('/target')).toEqual([])
  })

  test('that is private is refused, with the same reason as a name without an address', async () => {
    const tenant = await aTenant(api.url)
    const refusedBefore = receiver.received.length
    const hosts = { 'private.test': '127.0.0.2', 'metadata.test': '169.254.169.254', 'internal.test': '10.0.0.1' }
    for (const [host, address] of [...Object.entries(hosts), ['absent.test', undefined]] as const) {
      if (address !== undefined) receiver.names.set(host, address)
      const webhook = await create(tenant, '/', { url: receiver.urlOf('/', host) })
      await sendTest(tenant, webhook)
      expect(await failed(tenant, webhook)).toMatchObject({ failure: 'NoPublicAddress', attempts: 1 })
    }
    expect(receiver.received).toHaveLength(refusedBefore)
  })

  test('is looked up for every attempt: a name that turns private later is refused', async () => {
    const tenant = await aTenant(api.url)
    const webhook = await create(tenant, '/rebound')
    await sendTest(tenant, webhook)
    await settled(tenant, webhook, 'Delivered')
    receiver.names.set(receiverHost, '127.0.0.2')
    try {
      await sendTest(tenant, webhook)
      expect(await failed(tenant, webhook)).toMatchObject({ failure: 'NoPublicAddress' })
      expect(receiver.of('/rebound')).toHaveLength(1)
    } finally {
      receiver.names.set(receiverHost, '127.0.0.1')
    }
  })

  test('with a certificate for another name is refused', async () => {
    const tenant = await aTenant(api.url)
    receiver.names.set('other.test', '127.0.0.1')
    const webhook = await create(tenant, '/', { url: receiver.urlOf('/', 'other.test') })
    await sendTest(tenant, webhook)
    expect(await failed(tenant, webhook)).toMatchObject({ failure: 'TlsFailed' })
  })

  test.each(['http://hooks.example.test/', 'https://127.0.0.1/', 'https://u:p@hooks.example.test/'])(
    'such as %s is a validation error',
    async (url) => {
      const { rest } = await aTenant(api.url)
      expect(await rest.call('POST', '/api/webhooks/', { url })).toMatchObject({
        status: 400,
        body: { errors: [{ path: '/url' }] },
      })
    },
  )
})

describe('a webhook', () => {
  test('reads at most a few KiB of an answer', async () => {
    const tenant = await aTenant(api.url)
    const webhook = await create(tenant, '/large')
    await sendTest(tenant, webhook)
    expect(await settled(tenant, webhook, 'Delivered')).toMatchObject({ statusCode: 200 })
  })

  test('that answers 410 is deactivated with the reason and an audit record, until it is activated again', async () => {
    const tenant = await aTenant(api.url)
    const webhook = await create(tenant, '/gone')
    await sendTest(tenant, webhook)
    const disabled = await eventually('it is deactivated', async () => {
      const shown = await readWebhook(tenant, webhook)
      return !shown.isActive && shown
    })
    expect(disabled).toMatchObject({ disabledReason: 'Gone' })
    type Record = { door: string; action: string; resources: string[] }
    const audit = await tenant.rest.call<Record[]>('GET', '/api/audit/?door=system')
    expect(audit.body).toMatchObject([{ action: 'patchWebhook', resources: [webhook.documentId] }])
    const path = `/api/webhooks/${webhook.documentId}/`
    const active = await tenant.rest.call<Webhook>('PATCH', path, { isActive: true })
    expect(active.body.disabledReason).toBeUndefined()
    expect(active.body.isActive).toBe(true)
  })

  test('shows its secret only when it is created', async () => {
    const tenant = await aTenant(api.url)
    const { secret, documentId } = await create(tenant, '/secret')
    expect(secret).toMatch(/^whsec_/)
    const answers = [
      await tenant.rest.call('GET', '/api/webhooks/'),
      await tenant.rest.call('GET', `/api/webhooks/${documentId}/`),
      await tenant.rest.call('PATCH', `/api/webhooks/${documentId}/`, { events: ['api_key.created'] }),
    ]
    for (const answer of answers) {
      expect(answer.status).toBe(200)
      expect(JSON.stringify(answer.body)).not.toContain('whsec_')
    }
    await inSession(databaseUrl, async (sql) => {
      const { rows } = await sql.query('select to_jsonb(w) as row from webhooks w')
      expect(JSON.stringify(rows)).not.toContain(secret.slice(6))
    })
  })

  test('counts against maxWebhooks', async () => {
    const tenant = await aTenant(api.url)
    const limits = `/api/organizations/${tenant.scope.organizationId}/limits/`
    await tenant.rest.call('PATCH', limits, { maxWebhooks: 1 })
    await create(tenant, '/')
    const refused = await tenant.rest.call('POST', '/api/webhooks/', { url: receiver.urlOf('/') })
    expect(refused).toMatchObject({ status: 409, body: { code: 'limit_reached' } })
    const { body } = await tenant.rest.call('GET', '/api/organizations/current/usage/')
    expect(body).toMatchObject({ maxWebhooks: { limit: 1, used: 1 } })
  })

  test('lists its deliveries in pages, newest first', async () => {
    const tenant = await aTenant(api.url)
    const webhook = await create(tenant, '/paged')
    for (let sent = 0; sent < 3; sent += 1) await sendTest(tenant, webhook)
    const all = await deliveriesOf(tenant, webhook)
    const path = `/api/webhooks/${webhook.documentId}/deliveries/`
    const first = await tenant.rest.call<Delivery[]>('GET', `${path}?limit=2`)
    const next = /<([^>]+)>/.exec(first.headers.get('link') ?? '')?.[1] ?? ''
    const rest = await tenant.rest.call<Delivery[]>('GET', next)
    const shown = [...first.body, ...rest.body]
    expect(shown.map(({ id }) => id)).toEqual(all.map(({ id }) => id))
    expect(all.map(({ createdAt }) => createdAt)).toEqual(
      all
        .map(({ createdAt }) => createdAt)
        .toSorted()
        .toReversed(),
    )
  })
})

test('a deleted organization gets no messages, and its webhooks are erased with it', async () => {
  const tenant = await aTenant(api.url)
  const { organizationId } = tenant.scope
  failures.set('/deleted', 1)
  const webhook = await create(tenant, '/deleted')
  await sendTest(tenant, webhook)
  await failed(tenant, webhook)
  const path = `/api/organizations/${organizationId}/`
  expect((await tenant.rest.call('DELETE', path)).status).toBe(204)
  expect((await tenant.rest.call('POST', `${path}restore/`)).status).toBe(204)
  await settled(tenant, webhook, 'Delivered')
  await tenant.rest.call('DELETE', path)
  await tenant.rest.call('POST', `${path}purge/`)
  const { db, close } = openDatabase({ url: databaseUrl, poolSize: 1 })
  await purgeDeleted({ db }, new AbortController().signal)
  expect(await db.$count(webhooks, eq(webhooks.organizationId, organizationId))).toBe(0)
  expect(await db.$count(webhookDeliveries, eq(webhookDeliveries.organizationId, organizationId))).toBe(0)
  expect(await db.$count(organizations, eq(organizations.id, organizationId))).toBe(0)
  await close()
})

test('a platform that has switched webhooks off refuses new ones', async () => {
  const off = await startApi({ databaseUrl: await aDatabase(), settings: { ORRERY_WEBHOOKS: 'false' } })
  const { rest } = await aTenant(off.url)
  const refused = await rest.call('POST', '/api/webhooks/', { url: receiver.urlOf('/') })
  expect(refused).toMatchObject({ status: 403, body: { code: 'forbidden' } })
  expect(await rest.call('GET', '/api/webhooks/')).toMatchObject({ status: 200, body: [] })
  await off.stop()
})

test('the metrics count attempts by result', async () => {
  const text = await (await fetch(api.metricsUrl)).text()
  expect(text).toMatch(/orrery_webhook_attempts_total\{result="Delivered"\} \d+/)
  expect(text).toMatch(/orrery_webhook_pending_deliveries \d+/)
  expect(text).toMatch(/orrery_webhook_oldest_due_seconds \d+/)
  expect(text).not.toMatch(/whk-/)
})
