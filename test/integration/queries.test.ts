import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inSession } from '#dev/postgres.ts'
import { queryRule } from '#shared/domain/query.ts'
import { queryProtocols } from '#shared/enumerations.ts'
import { aCluster } from '#test/support/cluster.ts'
import { concurrently } from '#test/support/concurrently.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import type { WorldBody } from '#test/support/rest.ts'
import { openSocket } from '#test/support/socket.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
let databaseUrl: string
let api: ApiProcess
let tenant: Tenant
let namespace: string

// There is no operator: the tests write what it would report.
beforeAll(async () => {
  databaseUrl = await aDatabase()
  api = await startApi({ databaseUrl })
  tenant = await aTenant(api.url)
  namespace = `orrery-${tenant.scope.organizationId}`
})
afterAll(async () => {
  await api?.stop()
  await cluster.close()
})

type Query = { protocol?: string; port?: number; timeoutSeconds?: number }
type Problem = { errors?: { path: string; message: string }[] }
type World = WorldBody & { runtime: { query?: Query }; networking: { ports: { name: string }[] }; queueState: object }

const main = { name: 'main', containerPort: 9000 }
const other = { name: 'other', containerPort: 7777 }
const udp = { ...main, protocol: 'UDP' }
const fault = { errors: [{ path: '/runtime/query', message: queryRule.message }] }

/** The lists of ports, and for each transport the ports of a query that the rule accepts with them. */
const lists = [
  ['a TCP port', [{ ...main, protocol: 'TCP' }], { TCP: ['absent', 9000], UDP: [] }],
  ['a UDP port', [udp], { TCP: [], UDP: ['absent', 9000] }],
  ['a port of both', [main], { TCP: ['absent', 9000], UDP: ['absent', 9000] }],
  [
    'an Internal TCP port',
    [
      { ...other, protocol: 'UDP' },
      { ...main, protocol: 'TCP', expose: 'Internal' },
    ],
    { TCP: [9000], UDP: ['absent'] },
  ],
  [
    'an Internal UDP port',
    [
      { ...other, protocol: 'TCP' },
      { ...udp, expose: 'Internal' },
    ],
    { TCP: ['absent'], UDP: [9000] },
  ],
  [
    'two ports with one number',
    [
      { ...main, name: 'web', protocol: 'TCP', expose: 'Internal' },
      { ...main, protocol: 'UDP' },
    ],
    { TCP: [9000], UDP: ['absent', 9000] },
  ],
  ['a Passthrough port', [{ ...udp, policy: 'Passthrough' }], { TCP: [], UDP: ['absent', 9000] }],
] as const
const queries = queryProtocols.flatMap((protocol) =>
  (['absent', 8080, 9000, 9001] as const).map((port) => ({
    port,
    protocol,
    query: { protocol, ...(port === 'absent' ? {} : { port }) },
  })),
)

describe('the rule of queries and ports', () => {
  test.each(lists)('is the same in REST and in the resource with %s', async (title, ports, accepted) => {
    const create = async (query: Query, name: string): Promise<string[]> => {
      const body = { name: 'Lobby', transient: false, networking: { ports }, runtime: { query } }
      const answer = await tenant.rest.call<Problem>('POST', '/api/worlds/', body)
      if (answer.status === 400) expect(answer.body).toMatchObject(fault)
      const world = {
        apiVersion: 'orrery.dev/v1alpha1',
        kind: 'World',
        metadata: { name, namespace: 'default' },
        spec: { networking: { ports }, runtime: { query } },
      }
      const refusal = await cluster.worlds.create(world as never).then(
        () => undefined,
        (error: Error) => error.message,
      )
      if (refusal !== undefined) expect(refusal).toContain(queryRule.message)
      return [answer.status === 200, refusal === undefined].map((isAccepted) => (isAccepted ? 'accepted' : 'refused'))
    }
    const seen: string[] = Array.from({ length: queries.length })
    await concurrently(queries.length, async (at) => {
      const { query, protocol, port } = queries[at] ?? { query: {} }
      const name = `${title.replaceAll(' ', '-').toLowerCase()}-${at}`
      seen[at] = `${protocol} ${port}: ${(await create(query, name)).join(' ')}`
    })
    expect(seen).toEqual(
      queries.map(({ protocol, port }) => {
        const transport = protocol === 'Http' || protocol === 'MinecraftJava' ? 'TCP' : 'UDP'
        const of: readonly (string | number)[] = accepted[transport]
        const always = (port === 8080 && transport === 'TCP') || (port === 'absent' && protocol === 'Http')
        const expected = always || of.includes(port) ? 'accepted' : 'refused'
        return `${protocol} ${port}: ${expected} ${expected}`
      }),
    )
  })

  test('applies to the result of a PATCH, whichever half of it changes', async () => {
    const scaling = { profile: 'Capacity10' }
    const networking = { strategy: 'Default', scaling, ports: [udp] }
    const query = { protocol: 'A2S', port: 9000, timeoutSeconds: 2 }
    const id = await tenant.world({ networking, runtime: { query } })
    const patch = (body: object) => tenant.rest.call<World & Problem>('PATCH', `/api/worlds/${id}/`, body)
    for (const body of [
      { networking: { strategy: 'Default', scaling } },
      { runtime: { query: { protocol: 'A2S', port: 9001 } } },
      { runtime: { query: { protocol: 'MinecraftJava' } } },
      { networking: { strategy: 'Default', scaling }, runtime: { query: { protocol: 'SQP', port: 9000 } } },
    ]) {
      const { status, body: answer } = await patch(body)
      expect({ status, answer }).toMatchObject({ status: 400, answer: fault })
    }
    expect((await tenant.rest.call<World>('GET', `/api/worlds/${id}/`)).body).toMatchObject({
      runtime: { query },
      networking: { ports: [udp] },
    })
    expect((await patch({ name: 'Foyer' })).status).toBe(200)
    const both = { networking: { strategy: 'Default', scaling }, runtime: { query: { protocol: 'A2S', port: 7777 } } }
    expect((await patch(both)).body.runtime.query).toEqual({ ...query, port: 7777 })
    expect((await patch({ runtime: {} })).body.runtime).not.toHaveProperty('query')
    expect((await patch({ networking })).status).toBe(200)
  })
})

test('a query has defaults, and REST refuses what it does not have', async () => {
  const create = (query: object) =>
    tenant.rest.call<Problem & { worldId: string }>('POST', '/api/worlds/', {
      name: 'Lobby',
      transient: false,
      runtime: { query },
    })
  const { body } = await create({})
  const world = (await tenant.rest.call<World>('GET', `/api/worlds/${body.worldId}/`)).body
  expect(world.runtime.query).toEqual({ protocol: 'Http', timeoutSeconds: 2 })
  for (const [field, value] of [
    ['protocol', 'Quake'],
    ['port', 0],
    ['port', null],
    ['timeoutSeconds', 6],
    ['transport', 'UDP'],
  ] as const) {
    const { status, body: answer } = await create({ protocol: 'A2S', [field]: value })
    expect([status, answer.errors?.[0]?.path]).toEqual([400, expect.stringMatching(/^\/runtime\/query(\/|$)/)])
  }
})

/** A world whose resource exists. */
const aWorld = async (body: object) => {
  const id = await tenant.world(body)
  const path = `/api/worlds/${id}/`
  await cluster.world(namespace, id).exists()
  const live = () => cluster.worlds.get({ namespace, name: id })
  const read = async (): Promise<World> => (await tenant.rest.call<World>('GET', path)).body
  const kubectl = (patch: object, ...more: string[]) =>
    cluster.kubectl('-n', namespace, 'patch', 'world', id, '--type=merge', '-p', JSON.stringify(patch), ...more)
  return {
    id,
    path,
    live,
    read,
    kubectl,
    shows: (what: string, holds: (world: World) => boolean) => eventually(what, async () => holds(await read())),
    starts: async () => {
      await tenant.rest.call('POST', `${path}start/`)
      return eventually('the grant', async () => (await live()).spec.granted)
    },
    /** Writes a part of the status, as the operator does. */
    reports: async (status: object) => {
      const { spec } = await live()
      const current = { phase: 'Active', observedRevision: spec.revision, runId: spec.runId }
      kubectl({ status: { ...current, ...status } }, '--subresource=status')
    },
  }
}

test('edits of a query with kubectl are adopted, its removal too, and the API server refuses one without a port', async () => {
  const world = await aWorld({ networking: { ports: [udp] } })
  world.kubectl({ spec: { runtime: { query: { protocol: 'SQP', port: 9000 } } } })
  await world.shows('the query', ({ runtime }) => runtime.query?.port === 9000)
  expect((await world.read()).runtime.query).toEqual({ protocol: 'SQP', port: 9000, timeoutSeconds: 2 })
  expect(() => world.kubectl({ spec: { runtime: { query: { port: 9001 } } } })).toThrow(queryRule.message)
  expect(() => world.kubectl({ spec: { networking: { ports: [other, { ...main, protocol: 'TCP' }] } } })).toThrow(
    queryRule.message,
  )
  world.kubectl({ spec: { runtime: { query: null } } })
  await world.shows('no query', ({ runtime }) => runtime.query === undefined)
  await eventually('the adoption', async () => !('query' in (await world.live()).spec.runtime))
})

test('a run keeps its query, its deployment shows it, and edits take effect at the next start', async () => {
  const query = { protocol: 'A2S', timeoutSeconds: 3 }
  const world = await aWorld({ networking: { ports: [udp] }, runtime: { query } })
  const granted = await world.starts()
  expect(granted.query).toEqual(query)
  const deploymentsOf = async () =>
    (await tenant.rest.call<{ runtime: { query?: Query } }[]>('GET', `${world.path}deployments/`)).body
  expect((await deploymentsOf()).map(({ runtime }) => runtime.query)).toEqual([query])
  const { body } = await tenant.rest.call<World>('PATCH', world.path, { runtime: {} })
  expect(body.status.message).toBe('Changes of query take effect at the next start.')
  const after = await eventually('the edit', async () => {
    const { spec } = await world.live()
    return spec.runtime.query === undefined && spec
  })
  expect(after.granted?.query).toEqual(query)
  await tenant.rest.call('PATCH', world.path, { runtime: { query } })
  expect((await world.read()).status.message).toBe('')
  // The deployment of a run that the API did not start, as after a restore of its database.
  const sql = 'delete from deployments where world_id = $1'
  await inSession(databaseUrl, (session) => session.query(sql, [world.id]))
  const { uid: _, organizationId: __, projectId: ___, worldId: ____, ...captured } = granted
  const run = { image: 'registry.example/own:1', ...captured, restarts: 0 }
  const deployment = { id: `dep-${granted.id.slice(4)}`, externalId: 'pod', status: 'Running' }
  await world.reports({ run, deployment: { ...deployment, createdAt: granted.startedAt } })
  await eventually('the deployment', async () => (await deploymentsOf()).length === 1)
  expect((await deploymentsOf()).map(({ runtime }) => runtime.query)).toEqual([query])
})

test('what a server reports is in REST, travel locations and the feed until its counts are unknown, and no stranger sees its query', async () => {
  const rcon = { name: 'rcon', containerPort: 25_575, expose: 'Internal' }
  const query = { protocol: 'A2S', port: 25_575 }
  const world = await aWorld({ networking: { ports: [udp, rcon] }, runtime: { query } })
  await world.starts()
  await tenant.rest.call('PATCH', world.path, { isPublic: true })
  const socket = await openSocket(api.url, tenant.scope)
  socket.subscribe('worlds', tenant.scope.projectId)
  const fed = () =>
    socket
      .updatesOf(tenant.scope.projectId)
      .flatMap(({ data }) => (data as { worlds: { worldId: string }[] }).worlds)
      .findLast(({ worldId }) => worldId === world.id)
  await eventually('the snapshot', async () => fed() !== undefined)
  const reported = { capacity: 40, version: '1.21', map: 'dust' }
  const at = new Date().toISOString()
  const why = 'No answer over A2S at port 25575 (UDP): check that the server listens on it.'
  const responding = (status: string, reason: string, message: string) => ({
    conditions: [{ type: 'Responding', status, reason, message, lastTransitionTime: at, observedGeneration: 1 }],
  })
  await world.reports({ ...responding('True', 'Answered', ''), queue: { queued: 1, active: 12, ...reported } })
  await world.shows('the version', ({ queueState }) => 'version' in queueState)
  expect(await world.read()).toMatchObject({
    queueState: { queued: 1, active: 12, ...reported },
    status: { conditions: [{ type: 'Responding', status: 'True', reason: 'Answered' }] },
  })
  const inLocations = async () => {
    const { body } = await tenant.rest.call<{ worlds: { worldId: string }[] }>('GET', '/api/worlds/travel/locations/')
    return body.worlds.find(({ worldId }) => worldId === world.id)
  }
  expect(await inLocations()).toMatchObject({ queueState: { queued: 1, active: 12, ...reported } })
  await eventually('the feed', async () => 'reportedVersion' in (fed() ?? {}))
  expect(fed()).toMatchObject({ players: 12, queued: 1, reportedVersion: '1.21', reportedMap: 'dust' })

  // The details alone change.
  await world.reports({ queue: { queued: 1, active: 12, ...reported, map: 'ice' } })
  await eventually('the map in the feed', async () => (fed() as { reportedMap?: string }).reportedMap === 'ice')

  await world.reports({ ...responding('False', 'NoAnswer', why), queue: null })
  await world.shows('unknown counts', ({ queueState }) => !('version' in queueState))
  expect(await world.read()).toMatchObject({
    queueState: { queued: 0, active: 0 },
    status: { phase: 'Active', conditions: [{ type: 'Responding', reason: 'NoAnswer', message: why }] },
  })
  await eventually('the feed', async () => !('players' in (fed() ?? {})))
  for (const gone of ['queued', 'reportedVersion', 'reportedMap']) expect(fed()).not.toHaveProperty(gone)
  const events = await tenant.rest.call<{ reason: string }[]>('GET', `${world.path}events/`)
  expect(events.body.map(({ reason }) => reason)).not.toContain('NoAnswer')

  const stranger = await (await aTenant(api.url)).withKey([])
  const shown = (await stranger.call<World[]>('GET', '/api/worlds/public/')).body
  const text = JSON.stringify(shown.find(({ documentId }) => documentId === world.id))
  expect(text).toContain('main')
  expect(text).not.toMatch(/rcon|25575|query|Responding/)

  await world.reports({ queue: { queued: 0, active: 2, ...reported } })
  await world.shows('the counts', ({ queueState }) => 'version' in queueState)
  await tenant.rest.call('POST', `${world.path}stop/`)
  expect((await world.read()).queueState).toEqual({ queued: 0, active: 0 })
  socket.terminate()
})
