import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { createRest } from '#test/support/rest.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'

let api: ApiProcess
let databaseUrl: string
let tenant: Tenant
beforeAll(async () => {
  databaseUrl = await aDatabase()
  api = await startApi({ databaseUrl, settings: { ORRERY_LIMIT_STARTS_PER_MINUTE: '2' } })
})
afterAll(() => api?.stop())

type Result = { worldId: string; status: number; code?: string }
type Rest = Tenant['rest']
const act = async (rest: Rest, body: object) => {
  const { status, body: answer } = await rest.call<{ results: Result[]; code?: string }>(
    'POST',
    '/api/worlds/actions/',
    body,
  )
  return { status, code: answer.code, results: answer.results?.map((each) => [each.worldId, each.status, each.code]) }
}
const phasesOf = async (rest: Rest) => {
  const { body } = await rest.call<{ status: { phase: string; runId?: string } }[]>('GET', '/api/worlds/')
  return body.map(({ status }) => status.phase)
}
const auditOf = async (rest: Rest) =>
  (await rest.call<{ action: string; resources: string[] }[]>('GET', '/api/audit/')).body
const aFleet = async (worlds: number) => {
  tenant = await aTenant(api.url)
  const ids: string[] = []
  for (let at = 0; at < worlds; at += 1) ids.push(await tenant.world({ name: `World ${at}` }))
  return { ...tenant, ids }
}

test('starts, stops and deletes the named worlds, each with its own result and audit record', async () => {
  const { rest, ids } = await aFleet(3)
  const absent = `wld-${'0'.repeat(26)}`
  expect(await act(rest, { action: 'start', ids: [ids[0], absent, ids[1]] })).toEqual({
    status: 200,
    results: [
      [ids[0], 200, undefined],
      [absent, 404, 'not_found'],
      [ids[1], 200, undefined],
    ],
  })
  expect(await phasesOf(rest)).toEqual(['Starting', 'Starting', 'Inactive'])
  expect((await act(rest, { action: 'stop', ids })).results).toEqual(ids.map((id) => [id, 200, undefined]))
  expect(await phasesOf(rest)).toEqual(['Stopped', 'Stopped', 'Inactive'])
  expect((await act(rest, { action: 'delete', ids })).results).toEqual(ids.map((id) => [id, 200, undefined]))
  expect(await phasesOf(rest)).toEqual([])
  const records = (await auditOf(rest)).filter(({ action }) => /^(start|stop|delete)World$/.test(action))
  expect(records.map(({ action, resources }) => [action, resources[0]]).toSorted()).toEqual(
    [
      ...[ids[0], ids[1]].flatMap((id) => [
        ['startWorld', id],
        ['stopWorld', id],
      ]),
      ...ids.map((id) => ['deleteWorld', id]),
    ].toSorted(),
  )
})

test('can be repeated with the same result, without another run', async () => {
  const { rest, ids } = await aFleet(1)
  const runOf = async () =>
    (await rest.call<{ status: { runId: string } }>('GET', `/api/worlds/${ids[0]}/`)).body.status
  await act(rest, { action: 'start', ids })
  const { runId } = await runOf()
  expect(await act(rest, { action: 'start', ids: [ids[0], ids[0]] })).toMatchObject({
    results: [[ids[0], 200, undefined]],
  })
  expect((await runOf()).runId).toBe(runId)
  await act(rest, { action: 'stop', ids })
  expect((await act(rest, { action: 'stop', ids })).results).toEqual([[ids[0], 200, undefined]])
})

test('restarts the worlds that run, with a new run each, and leaves the others', async () => {
  const { rest, ids } = await aFleet(4)
  const runs = async () => {
    const { body } = await rest.call<{ status: { phase: string; runId?: string } }[]>('GET', '/api/worlds/')
    return body.map(({ status }) => status)
  }
  await act(rest, { action: 'start', ids: ids.slice(0, 3) })
  await act(rest, { action: 'stop', ids: [ids[2]] })
  const before = await runs()
  expect((await act(rest, { action: 'restart', ids })).results).toEqual(ids.map((id) => [id, 200, undefined]))
  const after = await runs()
  expect(after.map(({ phase }) => phase)).toEqual(['Starting', 'Starting', 'Stopped', 'Inactive'])
  const isNew = after.map(({ runId }, at) => runId !== before[at]?.runId)
  expect(isNew).toEqual([true, true, false, false])
  const restarts = (await auditOf(rest)).filter(({ action }) => action === 'startWorld')
  expect(restarts.map(({ resources }) => resources[0]).toSorted()).toEqual(
    [ids[0], ids[0], ids[1], ids[1], ids[2]].toSorted(),
  )
  // It counts as a start.
  const withKey = await tenant.withKey([`${tenant.paths.organization}/**:w`])
  expect((await act(withKey, { action: 'restart', ids: [ids[0]] })).results).toEqual([[ids[0], 429, 'rate_limited']])
})

test('a stop ends a start that waits, once, and leaves worlds without one', async () => {
  const { rest, ids } = await aFleet(2)
  const database = new Client(databaseUrl)
  await database.connect()
  const change = `state = 'Running', waits_since = now(), waits_for = 'No room.', waits_until = now() + interval '1 hour'`
  await database.query(`update worlds set ${change} where id = $1`, [ids[0]])
  for (let times = 0; times < 2; times += 1)
    expect((await act(rest, { action: 'stop', ids })).results).toEqual(ids.map((id) => [id, 200, undefined]))
  const { rows } = await database.query('select state, waits_since, phase from worlds where id = $1', [ids[0]])
  await database.end()
  expect(rows).toEqual([{ state: 'Stopped', waits_since: null, phase: 'Stopped' }])
  expect(await phasesOf(rest)).toEqual(['Stopped', 'Inactive'])
  const stops = (await auditOf(rest)).filter(({ action }) => action === 'stopWorld')
  expect(stops.map(({ resources }) => resources)).toEqual([[ids[0]]])
})

test('acts on the worlds that a filter matches', async () => {
  const { rest, ids } = await aFleet(3)
  expect((await act(rest, { action: 'start', filter: { q: 'world 1' } })).results).toEqual([[ids[1], 200, undefined]])
  const filter = { phase: ['Inactive'] }
  expect(await act(rest, { action: 'delete', filter, expectedCount: 3 })).toMatchObject({
    status: 409,
    code: 'conflict',
  })
  expect(await phasesOf(rest)).toHaveLength(3)
  expect((await act(rest, { action: 'delete', filter, expectedCount: 2 })).results).toHaveLength(2)
  expect(await phasesOf(rest)).toEqual(['Starting'])
})

test.each([
  { action: 'start' },
  { action: 'start', filter: {} },
  { action: 'start', ids: [] },
  { action: 'start', ids: ['wld-1'] },
  { action: 'start', ids: [`wld-${'0'.repeat(26)}`], filter: { q: 'a' } },
  { action: 'delete', filter: { q: 'a' } },
  { action: 'pause', filter: { q: 'a' } },
])('rejects %j', async (body) => {
  const { rest } = await aTenant(api.url)
  expect((await act(rest, body)).status).toBe(400)
})

test('counts permissions and the rate of starts for each world', async () => {
  const { ids, paths, withKey } = await aFleet(3)
  const world = (at: number, verb: string) => `${paths.project}/worlds/${ids[at]}:${verb}`
  const rest = await withKey([world(0, 'w'), world(1, 'r')])
  expect((await act(rest, { action: 'start', ids })).results).toEqual([
    [ids[0], 200, undefined],
    [ids[1], 403, 'forbidden'],
    [ids[2], 404, 'not_found'],
  ])
  expect((await act(rest, { action: 'stop', ids: [ids[0]] })).results).toEqual([[ids[0], 200, undefined]])
  expect((await act(rest, { action: 'start', ids: [ids[0]] })).results).toEqual([[ids[0], 429, 'rate_limited']])
  const stranger = await (await aTenant(api.url)).key([])
  const headers = { 'x-api-key': stranger }
  expect((await tenant.rest.call('POST', '/api/worlds/actions/', { action: 'stop', ids }, headers)).status).toBe(404)
})

test('acts in the scope of the organization on the worlds of all projects that a key may change', async () => {
  const { ids, paths, rest, scope, key } = await aFleet(2)
  const made = await rest.call<{ projectId: string }>('POST', '/api/organizations/projects/', { name: 'Other' })
  const other = createRest(api.url, { ...scope, projectId: made.body.projectId })
  const world = await other.call<{ worldId: string }>('POST', '/api/worlds/', { name: 'Lobby', transient: false })
  const all = [...ids, world.body.worldId]
  const actAs = async (permissions: string[]) =>
    (await act(createRest(api.url, { ...scope, projectId: '' }, await key(permissions)), { action: 'start', ids: all }))
      .results
  expect(await actAs([`${paths.project}/**:w`])).toEqual([
    [all[0], 200, undefined],
    [all[1], 200, undefined],
    [all[2], 404, 'not_found'],
  ])
  const both = [`${paths.project}/**:r`, `${paths.organization}/projects/${made.body.projectId}/**:w`]
  expect(await actAs(both)).toEqual([
    [all[0], 403, 'forbidden'],
    [all[1], 403, 'forbidden'],
    [all[2], 200, undefined],
  ])
})

test('answers a repeated deletion 404 for each world', async () => {
  const { rest, ids } = await aFleet(2)
  await act(rest, { action: 'delete', ids: [ids[0]] })
  expect((await act(rest, { action: 'delete', ids })).results).toEqual([
    [ids[0], 404, 'not_found'],
    [ids[1], 200, undefined],
  ])
})

test('changes nothing if a filter matches more than 1,000 worlds', async () => {
  const { rest, ids } = await aFleet(1)
  const database = new Client(databaseUrl)
  await database.connect()
  await database.query(
    `insert into worlds select (jsonb_populate_record(null::worlds, to_jsonb(w) ||
       jsonb_build_object('id', 'wld-' || lpad(n::text, 26, '0'), 'resource_name', n::text))).*
     from worlds w, generate_series(1, 1000) n where id = $1`,
    [ids[0]],
  )
  await database.end()
  expect(await act(rest, { action: 'stop', filter: { q: 'world' } })).toMatchObject({
    status: 409,
    code: 'limit_reached',
  })
  expect((await rest.call<{ total: number; phases: object }>('GET', '/api/worlds/counts/')).body).toMatchObject({
    total: 1001,
    phases: { Inactive: 1001 },
  })
})
