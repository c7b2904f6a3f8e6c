import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SignJWT } from 'jose'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clockToleranceSeconds } from '#api/domain/access/token.ts'
import { deleteExpiredTickets } from '#api/domain/realtimeTickets/tickets.ts'
import { openDatabase } from '#api/platform/database/client.ts'
import { anIssuer, aPair, type Pair } from '#test/support/issuer.ts'
import { aKey, aToken } from '#test/support/keys.ts'
import { type ApiProcess, aDatabase, logLines, rootApiKey, startApi } from '#test/support/processes.ts'
import { createRest, inNewProject } from '#test/support/rest.ts'
import { getServers } from '#test/support/servers.ts'
import { listOf, openSocket, type Refusal, refusalOf, type SocketScope } from '#test/support/socket.ts'
import { eventually } from '#test/support/wait.ts'

type Rest = Awaited<ReturnType<typeof inNewProject>>
type Ticket = { ticket: string; expiresAt: string }

/** The id of the key with which processes of tests seal (test/support/processes.ts). */
const platformKeyId = 'first'
const trusted = { issuer: 'https://login.example.com', audience: 'orrery' }
let databaseUrl: string
let database: Client
let issuer: Awaited<ReturnType<typeof anIssuer>>
let pair: Pair
let api: ApiProcess
let other: ApiProcess
beforeAll(async () => {
  databaseUrl = await aDatabase()
  database = new Client(databaseUrl)
  await database.connect()
  issuer = await anIssuer()
  pair = await aPair('current')
  issuer.shows(pair)
  const file = join(getServers().logDir, `ticket-issuers-${process.pid}.json`)
  writeFileSync(file, JSON.stringify([{ ...trusted, jwksUrl: issuer.url, organizations: ['*'] }]))
  const settings = {
    ORRERY_LIMIT_SOCKETS_PER_KEY: '3',
    ORRERY_LIMIT_FAILED_CREDENTIALS_PER_MINUTE: '1000',
    ORRERY_JWT_ISSUERS_FILE: file,
  }
  ;[api, other] = await Promise.all([startApi({ databaseUrl, settings }), startApi({ databaseUrl, settings })])
})
afterAll(async () => {
  await Promise.all([api?.stop(), other?.stop(), issuer?.close()])
  await database?.end()
})

const aProject = () => inNewProject(api.url)
const readAll = ({ scope }: Rest) => [`organizations/${scope.organizationId}/**:r`]
const aReader = async (rest: Rest) => {
  const key = await aKey(rest, { permissions: readAll(rest) })
  return { ...key, rest: createRest(api.url, rest.scope, key.apiKey) }
}
const create = (rest: Pick<Rest, 'call'>) => rest.call<Ticket>('POST', '/api/realtime/tickets/')
const aTicket = async (rest: Pick<Rest, 'call'>): Promise<string> => (await create(rest)).body.ticket

/** Returns the options of a handshake as a page makes it: with the ticket and the scope in the protocol, and no other header. */
const asPage = (ticket: string, { organizationId = '', projectId = '' }: SocketScope) => {
  const scope = { 'x-svc-organization-id': organizationId, 'x-svc-project-id': projectId }
  return { headers: {}, protocols: ['orrery.v1', listOf({ 'x-realtime-ticket': ticket, ...scope })] }
}
const connect = (ticket: string, scope: SocketScope, { url } = api) => openSocket(url, scope, asPage(ticket, scope))
const refusal = (ticket: string, scope: SocketScope, { url } = api): Promise<Refusal> =>
  refusalOf(url, asPage(ticket, scope))
const used = {
  status: 401,
  body: { code: 'unauthenticated', detail: expect.stringContaining('The realtime ticket is invalid') },
}

describe('a ticket', () => {
  test('replaces a key in the handshake of a page, with the permissions of the key, for 30 s', async () => {
    const project = await aProject()
    const { rest, patch } = await aReader(project)
    const made = await create(rest)
    expect(made.status).toBe(201)
    const validMs = Date.parse(made.body.expiresAt) - Date.parse(made.headers.get('date') ?? '')
    expect(validMs).toBeGreaterThan(28_000)
    expect(validMs).toBeLessThan(32_000)
    const client = await connect(made.body.ticket, project.scope)
    expect(client.ws.protocol).toBe('orrery.v1')
    await project.call('PUT', '/api/documents/liveConfig/settings/', { data: { id: 's', config: { on: 1 } } })
    client.subscribe('liveConfig', 'settings')
    await client.hears('the document', ({ data }) => data !== undefined)
    await patch({ permissions: [`organizations/${project.scope.organizationId}/projects/prj-${'0'.repeat(26)}:r`] })
    await client.hears('the loss of the permission', ({ error }) => error === 'No permission')
  })

  test('is valid for one handshake', async () => {
    const project = await aProject()
    const ticket = await aTicket(project)
    await connect(ticket, project.scope)
    expect(await refusal(ticket, project.scope)).toMatchObject(used)
    expect(await refusal(ticket, project.scope, other)).toMatchObject(used)
  })

  test('is valid for one of many simultaneous handshakes on two replicas', async () => {
    const project = await aProject()
    for (let round = 0; round < 5; round += 1) {
      const ticket = await aTicket(project)
      const attempts = [api, other, api, other, api, other].map((replica) => connect(ticket, project.scope, replica))
      const settled = await Promise.allSettled(attempts)
      const opened = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
      expect(opened).toHaveLength(1)
      for (const client of opened) client.terminate()
    }
  })

  test('is not valid after its time, and its row is removed', async () => {
    const project = await aProject()
    const ticket = await aTicket(project)
    const open = await aTicket(project)
    const { organizationId } = project.scope
    await database.query(
      `update realtime_tickets set expires_at = now() where hash in (
         select hash from realtime_tickets where organization_id = $1 order by expires_at limit 1)`,
      [organizationId],
    )
    expect(await refusal(ticket, project.scope)).toMatchObject(used)
    const rows = async () =>
      (await database.query('select from realtime_tickets where organization_id = $1', [organizationId])).rowCount
    const { db, close } = openDatabase({ url: databaseUrl, poolSize: 1 })
    await deleteExpiredTickets(db)
    await close()
    expect(await rows()).toBe(1)
    await connect(open, project.scope)
  })

  test('is unknown if it is invented, or has another form', async () => {
    const { scope } = await aProject()
    for (const invented of [`ort_${'A'.repeat(43)}`, 'ticket', rootApiKey]) {
      expect(await refusal(invented, scope)).toMatchObject(used)
    }
  })

  test('of another organization is refused, and stays valid for its own', async () => {
    const [project, foreign] = await Promise.all([aProject(), aProject()])
    const ticket = await aTicket(project)
    expect(await refusal(ticket, foreign.scope)).toMatchObject(used)
    await connect(ticket, project.scope)
  })

  test('is spent by a handshake that is refused for another reason', async () => {
    const project = await aProject()
    const { rest } = await aReader(project)
    const ticket = await aTicket(rest)
    const absent = { ...project.scope, projectId: `prj-${'0'.repeat(26)}` }
    expect(await refusal(ticket, absent)).toMatchObject({ status: 404 })
    expect(await refusal(ticket, project.scope)).toMatchObject(used)
  })

  test.each(['x-api-key', 'authorization'])('beside %s is refused, and stays valid', async (name) => {
    const project = await aProject()
    const ticket = await aTicket(project)
    const both = { ...asPage(ticket, project.scope), headers: { [name]: `Bearer ${rootApiKey}` } }
    expect(await refusalOf(api.url, both)).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
    const basic = { ...asPage(ticket, project.scope), headers: { authorization: 'Basic OnByb3h5' } }
    await openSocket(api.url, project.scope, basic)
  })

  test('is not a credential of other requests', async () => {
    const project = await aProject()
    const ticket = await aTicket(project)
    const headers = { 'x-svc-organization-id': project.scope.organizationId ?? '' }
    for (const name of ['x-realtime-ticket', 'x-api-key']) {
      const answer = await fetch(`${api.url}/api/credentials/current/`, { headers: { ...headers, [name]: ticket } })
      expect(answer.status).toBe(401)
    }
  })

  test('is given to a credential that reaches the organization, and 404 to others', async () => {
    const [project, foreign] = await Promise.all([aProject(), aProject()])
    const { rest } = await aReader(project)
    const elsewhere = { 'x-svc-organization-id': foreign.scope.organizationId ?? '' }
    expect(await rest.call('POST', '/api/realtime/tickets/', undefined, elsewhere)).toMatchObject({ status: 404 })
    const absent = { 'x-svc-organization-id': `org-${'0'.repeat(26)}` }
    expect(await project.call('POST', '/api/realtime/tickets/', undefined, absent)).toMatchObject({ status: 404 })
    expect((await create(createRest(api.url, project.scope, 'unknown'))).status).toBe(401)
    expect((await create(createRest(api.url))).status).toBe(400)
  })
})

describe('the credential of a ticket', () => {
  test.each(['revoked', 'deactivated'])('that is %s before the handshake is refused like itself', async (how) => {
    const project = await aProject()
    const { rest, revoke, patch, apiKey } = await aReader(project)
    const ticket = await aTicket(rest)
    await (how === 'revoked' ? revoke() : patch({ isActive: false }))
    const withKey = { headers: { ...asPage('', project.scope).headers, 'x-api-key': apiKey } }
    const detail = expect.stringContaining('The credential of the realtime ticket is no longer valid.')
    expect(await refusalOf(api.url, withKey)).toMatchObject({ status: 401 })
    expect(await refusal(ticket, project.scope)).toMatchObject({ status: 401, body: { detail } })
  })

  test('that is revoked ends its connections on every replica', async () => {
    const project = await aProject()
    const { rest, revoke } = await aReader(project)
    const clients = []
    for (const replica of [api, other]) clients.push(await connect(await aTicket(rest), project.scope, replica))
    await revoke()
    for (const client of clients) expect((await client.closes()).code).toBe(4401)
  })

  test('counts the connections', async () => {
    const project = await aProject()
    const { rest } = await aReader(project)
    for (let at = 0; at < 3; at += 1) await connect(await aTicket(rest), project.scope)
    expect(await refusal(await aTicket(rest), project.scope)).toMatchObject({ status: 429 })
  })

  test('that is a token of the built-in issuer ends the connection when it expires', async () => {
    const project = await aProject()
    const expiresAt = new Date(Date.now() + 4_000).toISOString()
    const body = {
      displayName: 'Short',
      permissions: [`organizations/${project.scope.organizationId}/**:*`],
      expiresAt,
    }
    const made = await project.call<{ apiKey: string }>('POST', '/api/organizations/apiKeys/', body)
    const minting = createRest(api.url, project.scope, made.body.apiKey)
    const token = await aToken(minting, 'ann', readAll(project))
    const client = await connect(await aTicket(createRest(api.url, project.scope, { token })), project.scope)
    expect((await client.closes()).code).toBe(4401)
  })

  const aLongToken = (project: Rest, { length, validSeconds }: { length: number; validSeconds: number }) =>
    new SignJWT({
      organization_id: project.scope.organizationId,
      permissions: readAll(project),
      padding: 'x'.repeat(length),
    })
      .setProtectedHeader({ alg: 'RS256', kid: pair.kid })
      .setIssuer(trusted.issuer)
      .setAudience(trusted.audience)
      .setSubject('ann')
      .setExpirationTime(Math.floor(Date.now() / 1000) - clockToleranceSeconds + validSeconds)
      .sign(pair.privateKey)

  test('can be a token that no protocol header could hold, and its expiry ends the connection', async () => {
    const project = await aProject()
    const token = await aLongToken(project, { length: 5_000, validSeconds: 4 })
    const client = await connect(await aTicket(createRest(api.url, project.scope, { token })), project.scope)
    client.subscribe('liveConfig', 'a')
    await client.hears('the warning', ({ warning }) => warning !== undefined)
    expect((await client.closes()).code).toBe(4401)
  })

  test('has at most 8,192 characters', async () => {
    const project = await aProject()
    const token = await aLongToken(project, { length: 6_500, validSeconds: 60 })
    expect(token.length).toBeGreaterThan(8_192)
    const refused = await create(createRest(api.url, project.scope, { token }))
    const detail = expect.stringContaining('Use a token with fewer claims')
    expect(refused).toMatchObject({ status: 400, body: { code: 'invalid_request', detail } })
  })

  test('can be the platform key', async () => {
    const project = await aProject()
    const client = await connect(await aTicket(project), project.scope)
    client.subscribe('liveConfig', 'Organization:a')
    await client.hears('the warning', ({ warning }) => warning !== undefined)
  })
})

/** Copies the only ticket of the organization, so that it has `count` more, of the caller or of other ones. */
const copyTicket = ({ scope }: Rest, { count, caller }: { count: number; caller: string }) =>
  database.query(
    `insert into realtime_tickets (hash, organization_id, caller, sealed, expires_at)
     select hash || '-' || $3 || n, organization_id, case $3 when 'same' then caller else $3 || n end, sealed, expires_at
     from (select * from realtime_tickets where organization_id = $1 order by expires_at limit 1) t, generate_series(1, $2) n`,
    [scope.organizationId, count, caller],
  )
const tooMany = (detail: string) => ({
  status: 429,
  body: { code: 'rate_limited', detail: expect.stringContaining(detail) },
})

test('a credential has at most 1,000 open tickets, and an organization 10,000, and none ends early', async () => {
  const [project, foreign] = [await aProject(), await aProject()]
  const [mine, bystander] = [await aReader(project), await aReader(project)]
  const first = await aTicket(mine.rest)
  await copyTicket(project, { count: 998, caller: 'same' })
  const last = await aTicket(mine.rest)
  const refused = await create(mine.rest)
  expect(refused).toMatchObject(tooMany('1,000 open realtime tickets'))
  expect(refused.headers.get('retry-after')).toBe('30')
  const kept = await aTicket(bystander.rest)
  await copyTicket(project, { count: 8_999, caller: 'other' })
  expect(await create(bystander.rest)).toMatchObject(tooMany('The organization has 10,000'))
  expect((await create(foreign)).status).toBe(201)
  for (const ticket of [first, last, kept]) await connect(ticket, project.scope)
  expect((await create(mine.rest)).status).toBe(201)
})

test('a ticket counts as a request, leaves no audit record, and is in no log or row', async () => {
  const project = await aProject()
  const { rest, apiKey } = await aReader(project)
  const records = () => project.call<unknown[]>('GET', '/api/audit/')
  const before = (await records()).body.length
  const made = await create(rest)
  expect(Number(made.headers.get('ratelimit-remaining'))).toBeLessThan(100)
  const { ticket } = made.body
  const { rows } = await database.query('select to_jsonb(t)::text as row from realtime_tickets t')
  const stored = JSON.stringify(rows)
  expect(stored).toContain(project.scope.organizationId)
  // Sealed with the key of the platform, so that the row and the ticket together do not give the credential.
  expect(stored).toContain(`v1.${platformKeyId}.`)
  for (const secret of [ticket, ticket.slice(4), apiKey]) expect(stored).not.toContain(secret)
  await connect(ticket, project.scope)
  const protocol = asPage(ticket, project.scope).protocols[1] ?? ''
  await refusalOf(api.url, { ...asPage(ticket, project.scope), headers: { 'x-request-id': 'used-ticket' } })
  const lines = await eventually('the line of the refusal', async () => {
    const logged = logLines(api.logFile)
    return logged.some(({ requestId }) => requestId === 'used-ticket') && logged
  })
  for (const secret of [ticket, ticket.slice(4), protocol]) expect(JSON.stringify(lines)).not.toContain(secret)
  expect((await records()).body).toHaveLength(before)
})
