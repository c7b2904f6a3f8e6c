import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket as WebSocketOfWs } from 'ws'
import { createRealtime, type Realtime, type RealtimeOptions, type RealtimeState } from '#client/realtime.ts'
import { createTcpGate } from '#test/support/gate.ts'
import { aKey } from '#test/support/keys.ts'
import { type ApiProcess, aDatabase, rootApiKey, startApi } from '#test/support/processes.ts'
import { inNewProject } from '#test/support/rest.ts'
import { eventually } from '#test/support/wait.ts'

let databaseUrl: string
let api: ApiProcess
let other: ApiProcess
beforeAll(async () => {
  databaseUrl = await aDatabase()
  ;[api, other] = await Promise.all([startApi({ databaseUrl }), startApi({ databaseUrl })])
})
afterAll(() => Promise.all([api?.stop(), other?.stop()]))

const opened: Realtime[] = []
afterEach(() => {
  for (const client of opened.splice(0)) client.close()
})

const aProject = async () => {
  // Writes go to the replica that is never restarted.
  const rest = await inNewProject(other.url)
  const put = async (id: string, n: number): Promise<string> => {
    const body = { data: { id, config: { n } } }
    return (await rest.call<{ version: string }>('PUT', `/api/documents/liveConfig/${id}/`, body)).body.version
  }
  const client = (more: Partial<RealtimeOptions> = {}): Realtime => {
    // The longest waits are shortened twentyfold.
    const options = { baseUrl: api.url, apiKey: rootApiKey, ...rest.scope, random: () => 0.05, ...more }
    const made = createRealtime(options)
    opened.push(made)
    return made
  }
  return { ...rest, put, client }
}

/** Subscribes to a liveConfig. `received` holds the number in each update, and a word for any other event. */
const follow = (client: Realtime, id: string) => {
  const received: (number | string)[] = []
  const versions: string[] = []
  const stop = client.subscribe('liveConfig', id, {
    onUpdate: ({ data, version }) => {
      received.push(Number(data.config.n))
      versions.push(version)
    },
    onDeleted: ({ version }) => {
      received.push('deleted')
      versions.push(version)
    },
    onMissing: () => received.push('missing'),
    onError: ({ code }) => received.push(code),
  })
  const hears = (what: number | string) =>
    eventually(`${what} after ${JSON.stringify(received)}`, async () => received.at(-1) === what)
  const rises = (): void => expect(versions).toEqual([...new Set(versions)].sort())
  return { received, stop, hears, rises }
}

test.each([
  ['Node', WebSocket],
  ['the package ws', WebSocketOfWs],
])('with the WebSocket of %s a listener receives creation, change, deletion and recreation', async (_, by) => {
  const { call, put, client } = await aProject()
  const { received, hears, rises } = follow(client({ WebSocket: by }), 'a')
  await hears('missing')
  for (const n of [1, 2]) {
    await put('a', n)
    await hears(n)
  }
  await call('DELETE', '/api/documents/liveConfig/a/')
  await hears('deleted')
  await put('a', 3)
  await hears(3)
  expect(received).toEqual(['missing', 1, 2, 'deleted', 3])
  rises()
})

test('a listener of a world receives its status', async () => {
  const { call, client } = await aProject()
  const { body } = await call<{ worldId: string }>('POST', '/api/worlds/', { name: 'Lobby', transient: false })
  const phases: string[] = []
  client().subscribe('world', body.worldId, {
    onUpdate: ({ data }) => phases.push(data.phase),
    onDeleted: () => phases.push('deleted'),
    onError: (error) => phases.push(String(error)),
  })
  await eventually('the world', async () => phases.length === 1)
  await call('POST', `/api/worlds/${body.worldId}/start/`)
  await eventually('its start', async () => phases.length === 2)
  await call('DELETE', `/api/worlds/${body.worldId}/`)
  await eventually('its end', async () => phases.at(-1) === 'deleted')
  expect(phases).toEqual(['Inactive', 'Starting', 'deleted'])
})

test('a listener of all worlds has the table of REST, also after its server was down during changes', async () => {
  const { call, scope, client } = await aProject()
  const make = async (name: string): Promise<string> =>
    (await call<{ worldId: string }>('POST', '/api/worlds/', { name, transient: false })).body.worldId
  const tables: string[][] = []
  client().subscribe('worlds', scope.projectId ?? '', {
    onUpdate: ({ data }) => tables.push([...data.values()].map(({ name, status }) => `${name}: ${status.phase}`)),
    onError: (error) => tables.push([String(error)]),
  })
  const sees = (...rows: string[]) =>
    eventually(`${rows} after ${JSON.stringify(tables)}`, async () => `${tables.at(-1)}` === `${rows}`)
  await eventually('the empty table', async () => tables.length === 1)
  const first = await make('First')
  await sees('First: Inactive')
  const second = await make('Second')
  await call('POST', `/api/worlds/${first}/start/`)
  await sees('First: Starting', 'Second: Inactive')

  await api.stop()
  await call('DELETE', `/api/worlds/${second}/`)
  await make('Third')
  api = await startApi({ databaseUrl, port: Number(new URL(api.url).port) })
  await sees('First: Starting', 'Third: Inactive')
})

describe('a listener ends with the newest version and never goes back,', () => {
  test('when its sockets are cut repeatedly during writes', async () => {
    const { put, client } = await aProject()
    const gate = await createTcpGate(new URL(api.url))
    const states: RealtimeState[] = []
    const onState = (state: RealtimeState): void => void states.push(state)
    const through = client({ baseUrl: `http://127.0.0.1:${gate.port}`, onState })
    const followers = ['a', 'b', 'b'].map((id) => ({ id, ...follow(through, id) }))
    for (let n = 1; n <= 60; n += 1) {
      await Promise.all([put('a', n), put('b', -n)])
      if (n % 20 === 0) {
        // Waits for a new connection before each cut, and the next writes happen without one.
        await eventually('a connection', async () => states.at(-1)?.state === 'open')
        gate.cut()
        await eventually('its loss', async () => states.at(-1)?.state !== 'open')
      }
    }
    await Promise.all(followers.map(({ id, hears }) => hears(id === 'a' ? 60 : -60)))
    for (const { rises } of followers) rises()
    await eventually(
      'a connection after each cut',
      async () => states.filter(({ state }) => state === 'open').length === 4,
    )
    await gate.remove()
  })

  test('when its server was down during changes, deletions and creations', async () => {
    const { call, put, client } = await aProject()
    for (const id of ['changed', 'deleted', 'same']) await put(id, 1)
    const states: RealtimeState[] = []
    const onState = (state: RealtimeState): void => void states.push(state)
    const followed = client({ onState })
    const [changed, deleted, same, made] = ['changed', 'deleted', 'same', 'made'].map((id) => follow(followed, id))
    await Promise.all([changed, deleted, same].map((each) => each?.hears(1)))
    await made?.hears('missing')

    await api.stop()
    await eventually('the loss', async () => states.some(({ state }) => state === 'waiting'))
    expect(states.find(({ state }) => state === 'waiting')).toMatchObject({ code: 1012 })
    await put('changed', 2)
    await call('DELETE', '/api/documents/liveConfig/deleted/')
    await put('made', 1)
    api = await startApi({ databaseUrl, port: Number(new URL(api.url).port) })

    await changed?.hears(2)
    await deleted?.hears('missing')
    await made?.hears(1)
    expect([changed, deleted, same, made].map((each) => each?.received)).toEqual([
      [1, 2],
      [1, 'missing'],
      [1],
      ['missing', 1],
    ])
    await put('same', 2)
    await same?.hears(2)
  })
})

describe('an error of the API ends the subscription', () => {
  test('when its key is revoked', async () => {
    const rest = await aProject()
    const key = await aKey(rest, { permissions: [`organizations/${rest.scope.organizationId}/**:r`] })
    const states: RealtimeState[] = []
    const client = rest.client({ apiKey: key.apiKey, onState: (state) => states.push(state) })
    const { received, hears } = follow(client, 'a')
    await hears('missing')
    await key.revoke()
    await hears('4401')
    expect(received).toEqual(['missing', '4401'])
    expect(states.map(({ state }) => state)).toEqual(['connecting', 'open', 'closed'])
    expect(() => follow(client, 'b')).toThrow('no longer valid')
  })

  test.each<[string, Partial<RealtimeOptions>]>([
    ['unauthenticated', { apiKey: 'unknown' }],
    ['not_found', { worldId: 'wld-00000000000000000000000000' }],
  ])('at once when the API refuses its handshake as %s', async (code, more) => {
    const { client } = await aProject()
    const refused = client(more)
    const { received, hears } = follow(refused, 'a')
    await hears(code)
    expect(received).toEqual([code])
    expect(() => follow(refused, 'b')).toThrow()
  })

  test('when it cannot read a scope, without affecting the others', async () => {
    const { scope, put, ...rest } = await aProject()
    const permissions = [`organizations/${scope.organizationId}/projects/${scope.projectId}:r`]
    const key = await aKey({ scope, ...rest }, { permissions })
    const client = rest.client({ apiKey: key.apiKey })
    await put('a', 1)
    const allowed = follow(client, 'a')
    await follow(client, 'Organization:a').hears('No permission')
    await follow(client, 'not an id').hears('Invalid resource id')
    await allowed.hears(1)
  })
})

test('keeps an idle connection open, since the server answers the probe', async () => {
  const { put, client } = await aProject()
  const messages: string[] = []
  class NotedWebSocket extends WebSocket {
    constructor(url: string, protocols: string[]) {
      super(url, protocols)
      this.addEventListener('message', ({ data }) => messages.push(String(data)))
    }
  }
  // The test ends the waits, in the order of their start.
  const waits: (() => void)[] = []
  const sleep = (_: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      waits.push(resolve)
      signal?.addEventListener('abort', () => resolve())
    })
  const states: RealtimeState[] = []
  const onState = (state: RealtimeState): void => void states.push(state)
  const { received, hears } = follow(client({ clock: { sleep }, WebSocket: NotedWebSocket, onState }), 'a')
  await hears('missing')
  const endWait = async (): Promise<void> => (await eventually('a wait', async () => waits.shift()))()
  // The time to open, and the silence before which the first message came.
  await endWait()
  await endWait()
  for (let answers = 1; answers <= 3; answers += 1) {
    await endWait()
    await eventually(`${answers} answers`, async () => messages.length === 1 + answers)
    await endWait()
  }
  await put('a', 1)
  await hears(1)
  expect(received).toEqual(['missing', 1])
  expect(states.map(({ state }) => state)).toEqual(['connecting', 'open'])
})
