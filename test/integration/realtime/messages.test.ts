import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inSession } from '#dev/postgres.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { inNewProject, type WorldBody } from '#test/support/rest.ts'
import { openSocket } from '#test/support/socket.ts'

let api: ApiProcess
let databaseUrl: string
beforeAll(async () => {
  databaseUrl = await aDatabase()
  api = await startApi({ databaseUrl })
})
afterAll(() => api?.stop())

const aProject = async () => {
  const rest = await inNewProject(api.url)
  return {
    ...rest,
    socket: () => openSocket(api.url, rest.scope),
    config: (id: string, config: object) =>
      rest.call('PUT', `/api/documents/liveConfig/${id}/`, { data: { id, config } }),
  }
}
const lobby = { name: 'Lobby', transient: false }

test('every write of a document is one change, with no deletion before the first', async () => {
  const { config, call, scope } = await aProject()
  for (const n of [1, 2]) await config('counted', { n })
  await call('DELETE', '/api/documents/liveConfig/counted/')
  const changes = await inSession(databaseUrl, (sql) =>
    sql.query<{ config: { n: number } | null }>(
      `select data -> 'config' as config from realtime_changes
        where organization_id = $1 and id = 'counted' order by version`,
      [scope.organizationId],
    ),
  )
  expect(changes.rows.map(({ config }) => config)).toEqual([{ n: 1 }, { n: 2 }, null])
})

describe('a subscription', () => {
  test('receives the snapshot, then each update in order of versions', async () => {
    const { socket, config } = await aProject()
    const written = await config('settings', { level: 1 })
    const client = await socket()
    client.subscribe('liveConfig', 'settings')
    const present = await client.hears('the present document', ({ data }) => data !== undefined)
    expect(present).toEqual(written.body)
    for (let level = 2; level <= 20; level += 1) await config('settings', { level })
    await client.hears('the last update', ({ data }) => JSON.stringify(data?.config) === '{"level":20}')
    const versions = client.heard.map(({ version = '' }) => version)
    expect(versions).toHaveLength(20)
    expect(versions).toEqual([...new Set(versions)].sort())
    expect(versions.every((version) => new Date(version).toISOString() === version)).toBe(true)
  })

  test.each([
    ['kvStore', { key: 'k', store: 'kvstoreClient', data: { score: 1 } }],
    ['collection', { userId: 'u1', datasourceId: 'd1', userCollection: [{ item: 1 }] }],
    ['liveConfig', { id: 'l', config: { on: true } }],
  ])('of a %s has the data of its document, and the user it belongs to', async (type, data) => {
    const rest = await aProject()
    const client = await rest.socket()
    client.subscribe(type, 'mine')
    expect(await client.hears('the warning', ({ warning }) => warning !== undefined)).toMatchObject({
      warning: 'resource_not_found',
      message: expect.any(String),
    })
    await rest.call('PUT', `/api/documents/${type}/mine/`, { data, userId: 'ann' })
    const update = await client.hears('the update', (each) => each.data !== undefined)
    expect(update).toEqual({ userId: 'ann', resource: { type, id: 'mine' }, data, version: expect.any(String) })
  })

  test('of a missing document gets a warning, and an update once it exists', async () => {
    const { socket, config } = await aProject()
    const client = await socket()
    client.subscribe('liveConfig', 'later')
    await client.hears('the warning', ({ warning }) => warning === 'resource_not_found')
    await config('later', { here: true })
    await client.hears('the document', ({ data }) => data !== undefined)
  })

  test('survives the deletion of its document, which is empty data with a later version', async () => {
    const { socket, config, call } = await aProject()
    await config('brief', { n: 1 })
    const client = await socket()
    client.subscribe('liveConfig', 'brief')
    await client.hears('the document', ({ data }) => data !== undefined)
    await call('DELETE', '/api/documents/liveConfig/brief/')
    await client.hears('the deletion', ({ data }) => JSON.stringify(data) === '{}')
    await config('brief', { n: 2 })
    await client.hears('the new document', ({ data }) => JSON.stringify(data?.config) === '{"n":2}')
    const versions = client.heard.map(({ version = '' }) => version)
    expect(versions).toEqual([...new Set(versions)].sort())
    expect(versions).toHaveLength(3)

    await call('DELETE', '/api/documents/liveConfig/brief/')
    const late = await socket()
    late.subscribe('liveConfig', 'brief')
    await late.hears('the warning', ({ warning }) => warning === 'resource_not_found')
    expect(late.updatesOf('brief')).toEqual([])
  })

  test('ends with unsubscribe and can be repeated', async () => {
    const { socket, config } = await aProject()
    const client = await socket()
    await config('a', { n: 1 })
    await config('b', { n: 1 })
    client.subscribe('liveConfig', 'a')
    client.subscribe('liveConfig', 'b')
    await client.hears('a', ({ resource }) => resource?.id === 'a')
    await client.hears('b', ({ resource }) => resource?.id === 'b')
    client.unsubscribe('liveConfig', 'a')
    client.subscribe('liveConfig', 'unknown')
    await client.hears('that the server read both', ({ warning }) => warning !== undefined)
    await config('a', { n: 2 })
    await config('b', { n: 2 })
    await client.hears(
      'b again',
      ({ resource, data }) => resource?.id === 'b' && JSON.stringify(data?.config) === '{"n":2}',
    )
    expect(client.updatesOf('a')).toHaveLength(1)
    client.subscribe('liveConfig', 'a')
    await client.hears(
      'a as it is now',
      ({ resource, data }) => resource?.id === 'a' && JSON.stringify(data?.config) === '{"n":2}',
    )
  })

  test('made twice gets two snapshots and single updates', async () => {
    const { socket, config } = await aProject()
    await config('twice', { n: 1 })
    const client = await socket()
    client.subscribe('liveConfig', 'twice')
    await client.hears('the document', ({ data }) => data !== undefined)
    client.subscribe('liveConfig', 'twice')
    await client.hears('it again', () => client.updatesOf('twice').length === 2)
    client.subscribe('liveConfig', 'end')
    await client.hears(
      'that there is no end yet',
      ({ warning, resource }) => warning !== undefined && resource?.id === 'end',
    )
    await config('twice', { n: 2 })
    // The tail delivers both in order.
    await config('end', {})
    await client.hears('the end', ({ resource, data }) => resource?.id === 'end' && data !== undefined)
    expect(client.updatesOf('twice').map(({ data }) => data?.config)).toEqual([{ n: 1 }, { n: 1 }, { n: 2 }])
  })

  test('names the scope in the first part of the id, which is echoed unchanged', async () => {
    const { socket, config, scope } = await aProject()
    const client = await socket()
    for (const id of ['shared', 'Project:shared', 'Organization:shared']) client.subscribe('liveConfig', id)
    await config('shared', { of: 'project' })
    await config('Organization:shared', { of: 'organization' })
    await client.hears('all three', () => client.heard.filter(({ data }) => data).length === 3)
    expect(client.updatesOf('shared')[0]?.data?.config).toEqual({ of: 'project' })
    expect(client.updatesOf('Project:shared')[0]?.data?.config).toEqual({ of: 'project' })
    expect(client.updatesOf('Organization:shared')[0]?.data?.config).toEqual({ of: 'organization' })
    const whole = await openSocket(api.url, { organizationId: scope.organizationId ?? '' })
    whole.subscribe('liveConfig', 'shared')
    expect((await whole.hears('that of the organization', ({ data }) => data !== undefined)).data?.config).toEqual({
      of: 'organization',
    })
  })

  test('receives large documents too, which are read from their row', async () => {
    const { socket, config } = await aProject()
    const client = await socket()
    client.subscribe('liveConfig', 'large')
    const text = 'x'.repeat(400_000)
    await config('large', { text })
    const update = await client.hears('the document', ({ data }) => data !== undefined)
    expect(update.data?.config).toEqual({ text })
  })
})

describe('a world', () => {
  test('reports the status of REST from creation to deletion', async () => {
    const rest = await aProject()
    const { body } = await rest.call<{ worldId: string }>('POST', '/api/worlds/', lobby)
    const path = `/api/worlds/${body.worldId}/`
    const client = await rest.socket()
    client.subscribe('world', body.worldId)
    const first = await client.hears('the status', ({ data }) => data?.phase === 'Inactive')
    expect(first).toMatchObject({ userId: '', resource: { type: 'world', id: body.worldId } })
    await rest.call('POST', `${path}start/`)
    const status = (await rest.call<WorldBody>('GET', path)).body.status
    await client.hears('the start', ({ data }) => data?.runId === status.runId && data?.phase === status.phase)
    await rest.call('POST', `${path}stop/`)
    await client.hears('the stop', ({ data }) => data?.phase === 'Stopped')
    await rest.call('DELETE', path)
    await client.hears('the deletion', ({ data }) => JSON.stringify(data) === '{}')
    const versions = client.updatesOf(body.worldId).map(({ version = '' }) => version)
    expect(versions).toEqual([...new Set(versions)].sort())
  })

  test('reports in its message the changes that wait for the next start', async () => {
    const rest = await aProject()
    const { body } = await rest.call<{ worldId: string }>('POST', '/api/worlds/', lobby)
    const client = await rest.socket()
    client.subscribe('world', body.worldId)
    await rest.call('POST', `/api/worlds/${body.worldId}/start/`)
    await rest.call('PATCH', `/api/worlds/${body.worldId}/`, { runtime: { mapName: 'hall' } })
    await client.hears('the message', ({ data }) => String(data?.message).includes('Changes of map take effect'))
  })

  test('of another project or organization is reported as absent, without updates', async () => {
    const [owner, stranger] = await Promise.all([aProject(), aProject()])
    const { body } = await owner.call<{ worldId: string }>('POST', '/api/worlds/', lobby)
    const absent = 'wld-00000000000000000000000000'
    const client = await stranger.socket()
    client.subscribe('world', body.worldId)
    client.subscribe('world', absent)
    await client.hears('both warnings', () => client.heard.length === 2)
    const warnings = client.heard.map((each) => JSON.stringify(each).replaceAll(body.worldId, absent))
    expect(warnings[0]).toBe(warnings[1])
    await owner.call('POST', `/api/worlds/${body.worldId}/start/`)
    const own = await stranger.call<{ worldId: string }>('POST', '/api/worlds/', lobby)
    client.subscribe('world', own.body.worldId)
    await client.hears('its own', ({ data }) => data !== undefined)
    expect(client.updatesOf(body.worldId)).toEqual([])
  })
})

describe('a request that fails', () => {
  test.each([
    ['no JSON', 'hello'],
    ['a list', '[]'],
    ['no resource', '{"action":"subscribe"}'],
    ['no id', '{"action":"subscribe","resource":{"type":"kvStore"}}'],
    ['an id that is no text', '{"action":"subscribe","resource":{"type":"kvStore","id":7}}'],
    ['an unknown action', '{"action":"publish","resource":{"type":"kvStore","id":"a"}}'],
  ])('is malformed if it is %s', async (_, text) => {
    const client = await (await aProject()).socket()
    client.send(text)
    await client.hears('the error', () => client.heard.length > 0)
    expect(client.heard).toEqual([{ error: 'Invalid message format' }])
    expect(client.isOpen()).toBe(true)
  })

  test('is rejected if it is binary', async () => {
    const client = await (await aProject()).socket()
    client.ws.send(Buffer.from('{"action":"subscribe","resource":{"type":"liveConfig","id":"a"}}'))
    await client.hears('the error', ({ error }) => error === 'Invalid message format')
  })

  test.each([
    ['Unknown resource type', 'door', 'a'],
    ['Unknown resource type', '__proto__', 'a'],
    ['Invalid resource id', 'liveConfig', ''],
    ['Invalid resource id', 'liveConfig', 'x'.repeat(257)],
    ['Invalid resource id', 'liveConfig', 'a/b'],
    ['Invalid resource id', 'liveConfig', 'World:settings'],
    ['Invalid resource id', 'world', 'lobby'],
  ])('gets the error %s for the %s %s', async (error, type, id) => {
    const client = await (await aProject()).socket()
    client.subscribe(type, id)
    const heard = await client.hears('the error', () => client.heard.length > 0)
    expect(heard).toMatchObject({ error, message: expect.any(String), resource: { type } })
  })

  test('of one subscription too many does not affect the others', async () => {
    const { socket, config } = await aProject()
    const client = await socket()
    for (let at = 0; at < 129; at += 1) client.subscribe('liveConfig', `doc-${at}`)
    expect(await client.hears('the error', ({ error }) => error !== undefined)).toMatchObject({
      error: 'Too many subscriptions',
      resource: { id: 'doc-128' },
    })
    await config('doc-127', { n: 1 })
    await client.hears('the last that fitted', ({ data }) => data !== undefined)
    client.unsubscribe('liveConfig', 'doc-0')
    await config('doc-128', { n: 1 })
    client.subscribe('liveConfig', 'doc-128')
    await client.hears(
      'the one that fits now',
      ({ resource, data }) => resource?.id === 'doc-128' && data !== undefined,
    )
  })
})
