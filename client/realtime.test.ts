import bs58 from 'bs58'
import { build } from 'esbuild'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { sleep } from '#shared/clock.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { fc } from '#test/support/fastCheck.ts'
import { createRealtime, type Listener, type Realtime, type RealtimeOptions, type RealtimeState } from './realtime.ts'

type SocketEvent = { data?: unknown; code?: number; reason?: string }
type Sent = { action: string; resource: { type: string; id: string } }

/** A server that records connections and lets a test send messages on them. */
const createServer = () => {
  const connections: ReturnType<typeof createConnection>[] = []
  const createConnection = (url: string, protocols: string[]) => {
    const listeners = new Map<string, ((event: SocketEvent) => void)[]>()
    const sent: Sent[] = []
    const fire = (type: string, event: SocketEvent = {}): void => {
      for (const listener of listeners.get(type) ?? []) listener(event)
    }
    const say = (message: unknown): void =>
      fire('message', { data: typeof message === 'string' ? message : JSON.stringify(message) })
    return {
      url,
      protocols,
      sent,
      say,
      isClosed: false,
      addEventListener(type: string, listener: (event: SocketEvent) => void): void {
        listeners.set(type, [...(listeners.get(type) ?? []), listener])
      },
      send(text: string): void {
        sent.push(JSON.parse(text))
      },
      close(): void {
        this.isClosed = true
      },
      accept: (): void => fire('open'),
      cut: (code = 1006, reason = ''): void => fire('close', { code, reason }),
      update: (id: string, version: string, n = 0): void =>
        say({ userId: 'ann', resource: { type: 'liveConfig', id }, data: { id, config: { n } }, version }),
      deletion: (id: string, version: string): void =>
        say({ userId: 'ann', resource: { type: 'liveConfig', id }, data: {}, version }),
      missing: (id: string): void =>
        say({ warning: 'resource_not_found', message: 'None.', resource: { type: 'liveConfig', id } }),
      error: (id: string, error: string): void => say({ error, message: 'Why.', resource: { type: 'liveConfig', id } }),
    }
  }
  class WebSocket {
    constructor(url: string, protocols: string[]) {
      const connection = createConnection(url, protocols)
      connections.push(connection)
      // biome-ignore lint/correctness/noConstructorReturn: the test holds the other end of what the client holds.
      return connection
    }
  }
  const latest = () => {
    const connection = connections.at(-1)
    if (connection === undefined) throw new Error('No client connected.')
    return connection
  }
  return { connections, latest, WebSocket: WebSocket as NonNullable<RealtimeOptions['WebSocket']> }
}

let server: ReturnType<typeof createServer>
let clock: ReturnType<typeof createFakeClock>
let states: RealtimeState[]
beforeEach(() => {
  server = createServer()
  clock = createFakeClock()
  states = []
})

const createClient = (more: Partial<RealtimeOptions> = {}) =>
  createRealtime({
    baseUrl: 'https://orrery.example.com',
    apiKey: 'key',
    organizationId: 'org-1',
    random: () => 0.5,
    clock: { sleep: (delayMs, signal) => sleep(clock, delayMs, signal) },
    WebSocket: server.WebSocket,
    fetch: async () => new Response(null, { status: 426 }),
    onState: (state) => states.push(state),
    ...more,
  })

/** Waits until all pending promises have settled. */
const settle = () => new Promise((resolve) => setImmediate(resolve))
const advance = async (ms: number): Promise<void> => {
  clock.advance(ms)
  await settle()
}
/** Advances the clock beyond any backoff. */
const backoff = async (): Promise<void> => {
  await settle()
  await advance(30_000)
}

/** Creates a listener that records its events: the version of an update, or a word for any other event. */
const createListener = () => {
  const events: string[] = []
  const listener: Listener<'liveConfig'> = {
    onUpdate: ({ version }) => events.push(version),
    onDeleted: ({ version }) => events.push(`deleted ${version}`),
    onMissing: () => events.push('missing'),
    onError: ({ code }) => events.push(`error ${code}`),
  }
  return { events, ...listener }
}
const subscribe = (client: ReturnType<typeof createClient>, id = 'a') => {
  const listener = createListener()
  return { ...listener, stop: client.subscribe('liveConfig', id, listener) }
}
const opened = async (more: Partial<RealtimeOptions> = {}) => {
  const client = createClient(more)
  const subscriber = subscribe(client)
  server.latest().accept()
  await settle()
  return { client, ...subscriber }
}
const createRequest = (action: string, id: string): Sent => ({ action, resource: { type: 'liveConfig', id } })

describe('a connection', () => {
  test('sends credential and scope as a subprotocol, beside the one that the API selects', async () => {
    const client = createClient({ projectId: 'prj-1', worldId: 'wld-1', baseUrl: 'https://orrery.example.com/' })
    expect(server.connections).toEqual([])
    subscribe(client)
    const { url, protocols } = server.latest()
    expect(url).toBe('wss://orrery.example.com/api/realtime/connect/')
    expect(protocols[0]).toBe('orrery.v1')
    expect(new TextDecoder().decode(bs58.decode(protocols[1] ?? '')).split('\n')).toEqual([
      'x-api-key:key',
      'x-svc-organization-id:org-1',
      'x-svc-project-id:prj-1',
      'x-svc-world-id:wld-1',
    ])
  })

  test.each<[string, Partial<RealtimeOptions>]>([
    ['a credential that is not one line', { apiKey: 'key\nx-svc-project-id:prj-2' }],
    ['a scope that is not one line', { worldId: 'wld-1\nx-api-key:other' }],
    ['a credential that is too long for a ticket', { apiKey: 'k'.repeat(8_193) }],
    ['a scope that is too long for a handshake', { worldId: 'w'.repeat(1_400) }],
    ['no address', { baseUrl: '' }],
  ])('is rejected for %s with an error without the credential', (_, more) => {
    const failed = (() => {
      try {
        return createClient(more)
      } catch (error) {
        return error
      }
    })()
    expect(failed).toBeInstanceOf(TypeError)
    expect(String(failed)).not.toContain(more.apiKey ?? 'key')
  })

  test('with tickets is rejected on a platform without fetch', () => {
    vi.stubGlobal('fetch', undefined)
    expect(() => createClient({ fetch: undefined as never, usesTickets: true })).toThrow(TypeError)
    expect(() => createClient({ fetch: undefined as never })).not.toThrow()
    vi.unstubAllGlobals()
  })

  test('uses the address of the page by default', () => {
    vi.stubGlobal('location', { href: 'https://play.example.com/a/b?c' })
    subscribe(createClient({ baseUrl: '' }))
    vi.unstubAllGlobals()
    expect(server.latest().url).toBe('wss://play.example.com/api/realtime/connect/')
  })

  test('that is lost is reopened after a random part of a bound, which doubles up to 30 s', async () => {
    await opened({ random: () => 0.999 })
    server.latest().cut(1012, 'The server restarts; connect again.')
    const delays: number[] = []
    for (let attempt = 0; attempt < 8; attempt += 1) {
      await settle()
      const state = states.at(-1)
      if (state?.state === 'waiting') delays.push(Math.round(state.delayMs))
      await backoff()
      server.latest().cut()
    }
    expect(delays).toEqual([1_998, 3_996, 7_992, 15_984, 29_970, 29_970, 29_970, 29_970])
    expect(server.connections).toHaveLength(9)
  })

  test('is not reopened before the backoff has passed', async () => {
    await opened({ random: () => 0.5 })
    server.latest().cut()
    await settle()
    await advance(999)
    expect(server.connections).toHaveLength(1)
    await advance(1)
    expect(server.connections).toHaveLength(2)
  })

  test('that was open long enough resets the backoff', async () => {
    await opened()
    for (let attempt = 0; attempt < 5; attempt += 1) {
      server.latest().cut()
      await settle()
      await backoff()
    }
    server.latest().accept()
    await advance(10_000)
    server.latest().cut(1012, 'again')
    await settle()
    expect(states.at(-1)).toEqual({ state: 'waiting', delayMs: 500, code: 1012, reason: 'again' })
  })

  test('that does not open within 10 s is closed', async () => {
    subscribe(createClient())
    await advance(10_000)
    expect(server.latest().isClosed).toBe(true)
    expect(states.at(-1)).toMatchObject({ state: 'waiting', code: 1006 })
  })

  test('that is silent is probed, and closed if the probe gets no answer', async () => {
    const { events } = await opened()
    const first = server.latest()
    await advance(10_000)
    await advance(30_000)
    const probe = { action: 'unsubscribe', resource: { type: 'none', id: '' } }
    expect(first.sent.at(-1)).toEqual(probe)
    first.say({ error: 'Unknown resource type', message: '', resource: probe.resource })
    for (let time = 0; time < 3; time += 1) {
      await advance(30_000)
      first.update('a', `${time}`)
    }
    expect(first.sent).toEqual([createRequest('subscribe', 'a'), probe])
    for (let time = 0; time < 2; time += 1) await advance(30_000)
    expect(first.isClosed).toBe(false)
    await advance(30_000)
    expect(first.isClosed).toBe(true)
    expect(states.at(-1)).toMatchObject({ state: 'waiting', code: 1006 })
    expect(events).toEqual(['0', '1', '2'])
  })

  test('is probed and closed after the silence of its options', async () => {
    await opened({ quietMs: 4_000 })
    await advance(4_000)
    expect(server.latest().sent).toHaveLength(2)
    await advance(4_000)
    expect(states.at(-1)).toMatchObject({ state: 'waiting', reason: 'The connection was silent for 4 s.' })
  })

  test.each([4401, 4404])('that is closed with %i is not reopened, and every listener gets the error', async (code) => {
    const { client, events } = await opened()
    const other = subscribe(client, 'b')
    server.latest().cut(code, 'The credential is no longer valid.')
    await backoff()
    expect(server.connections).toHaveLength(1)
    expect([events, other.events]).toEqual([[`error ${code}`], [`error ${code}`]])
    expect(states.at(-1)).toEqual({ state: 'closed' })
    expect(() => subscribe(client)).toThrow('The credential is no longer valid.')
  })

  const refusal = (status: number, code: string, headers: Record<string, string> = {}): Response =>
    Response.json({ status, code, detail: `${code} for key` }, { status, headers })

  test('that the API refuses is not retried, and the error is its HTTP response without the credential', async () => {
    const requests: [string, RequestInit | undefined][] = []
    const fetch: RealtimeOptions['fetch'] = async (url, init) => {
      requests.push([String(url), init])
      return refusal(401, 'unauthenticated')
    }
    const errors: Error[] = []
    const client = createClient({ fetch, worldId: 'wld-1' })
    client.subscribe('liveConfig', 'a', { ...createListener(), onError: (error) => errors.push(error) })
    server.latest().cut()
    await backoff()
    expect(server.connections).toHaveLength(1)
    expect(errors).toMatchObject([{ code: 'unauthenticated', message: 'unauthenticated for [redacted]' }])
    expect(requests).toHaveLength(1)
    expect(requests[0]?.[0]).toBe('https://orrery.example.com/api/realtime/connect/')
    const headers = { 'x-api-key': 'key', 'x-svc-organization-id': 'org-1', 'x-svc-world-id': 'wld-1' }
    expect(Object.fromEntries(new Headers(requests[0]?.[1]?.headers))).toEqual(headers)
    expect(requests[0]?.[1]?.redirect).toBe('manual')
  })

  test.each<[string, () => Promise<Response>]>([
    ['is away', () => Promise.reject(new TypeError('fetch failed'))],
    ['has too many', async () => refusal(429, 'rate_limited')],
    ['is hidden by a proxy that knows of none', async () => new Response('<html>', { status: 404 })],
    ['would admit it now', async () => refusal(426, 'upgrade_required')],
  ])('is retried if the API %s', async (_, fetch) => {
    const { events } = subscribe(createClient({ fetch }))
    server.latest().cut()
    await backoff()
    expect(server.connections).toHaveLength(2)
    expect(events).toEqual([])
  })

  describe.each<[string, Partial<RealtimeOptions>]>([
    ['if the options ask for it', { usesTickets: true }],
    ['for a credential that is too long for a handshake', { apiKey: 'k'.repeat(2_048) }],
  ])('uses tickets %s', (_, options) => {
    /** Opens a client for which the API gives the tickets 1, 2, 3 and so on, or the answer of `refuse`. */
    const withTickets = async ({
      refuse,
      admits = false,
    }: {
      refuse?: (client: Realtime) => Response
      admits?: boolean
    } = {}) => {
      const requests: string[] = []
      const fetch: RealtimeOptions['fetch'] = async (url, init) => {
        requests.push(`${init?.method ?? 'GET'} ${new URL(String(url)).pathname}`)
        const key = new Headers(init?.headers).get('x-api-key')
        if (key !== (options.apiKey ?? 'key')) throw new Error(`The API got the key ${key}.`)
        if (init?.method !== 'POST') return admits ? refusal(426, 'upgrade_required') : refusal(403, 'forbidden')
        const given = requests.filter((each) => each.startsWith('POST')).length
        return refuse?.(client) ?? Response.json({ ticket: `ort_${given}` }, { status: 201 })
      }
      const client = createClient({ ...options, projectId: 'prj-1', fetch })
      const { events } = subscribe(client)
      await settle()
      return { requests, events }
    }
    const linesOf = ({ protocols }: { protocols: string[] }) =>
      new TextDecoder().decode(bs58.decode(protocols[1] ?? '')).split('\n')
    const scope = ['x-svc-organization-id:org-1', 'x-svc-project-id:prj-1']

    test('one for each connection, in place of the credential', async () => {
      const { requests } = await withTickets()
      server.latest().accept()
      server.latest().cut(1012, 'again')
      await backoff()
      expect(server.connections.map(linesOf)).toEqual([
        ['x-realtime-ticket:ort_1', ...scope],
        ['x-realtime-ticket:ort_2', ...scope],
      ])
      expect(server.latest().protocols[0]).toBe('orrery.v1')
      expect(requests).toEqual(['POST /api/realtime/tickets/', 'POST /api/realtime/tickets/'])
    })

    test('and ends with the reason for which it gets none', async () => {
      const { requests, events } = await withTickets({ refuse: () => refusal(401, 'unauthenticated') })
      expect(server.connections).toEqual([])
      expect(requests).toEqual(['POST /api/realtime/tickets/'])
      expect(events).toEqual(['error unauthenticated'])
    })

    test('and retries after the time in Retry-After, with the reason in its state', async () => {
      const { requests } = await withTickets({ refuse: () => refusal(429, 'rate_limited', { 'retry-after': '30' }) })
      const reason = 'The API refused to connect: 429 rate_limited.'
      expect(states.at(-1)).toEqual({ state: 'waiting', delayMs: 31_000, code: 1006, reason })
      await advance(30_999)
      expect(requests).toHaveLength(1)
      await advance(1)
      expect(requests).toEqual(['POST /api/realtime/tickets/', 'POST /api/realtime/tickets/'])
      expect(server.connections).toEqual([])
    })

    test('and retries after a response without a ticket', async () => {
      await withTickets({ refuse: () => Response.json({ ticket: 1 }) })
      expect(states.at(-1)).toMatchObject({ state: 'waiting', reason: 'The API gave no ticket.' })
      expect(server.connections).toEqual([])
    })

    test('and learns from a 404 whether the scope is absent', async () => {
      const { events } = await withTickets({ refuse: () => refusal(404, 'not_found') })
      expect(events).toEqual(['error forbidden'])
    })

    test('but not of an API without them: it sends the credential if that fits, or retries', async () => {
      const { requests, events } = await withTickets({ refuse: () => refusal(404, 'not_found'), admits: true })
      expect(requests).toEqual(['POST /api/realtime/tickets/', 'GET /api/realtime/connect/'])
      expect(server.connections.map(linesOf)).toEqual('apiKey' in options ? [] : [['x-api-key:key', ...scope]])
      expect(states.at(-1)?.state).toBe('apiKey' in options ? 'waiting' : 'connecting')
      expect(events).toEqual([])
    })

    test('and opens no connection if it is closed before it has one', async () => {
      await withTickets({
        refuse: (client) => {
          client.close()
          return Response.json({ ticket: 'ort_1' })
        },
      })
      expect(server.connections).toEqual([])
    })
  })

  describe('with a function that returns the token', () => {
    /** Opens a client whose function returns the present token of `tokens`, and its connection. The API refuses the token `bad`. */
    const renewed = async (...tokens: string[]) => {
      const asked: (string | undefined)[] = []
      const sent: (string | null)[] = []
      const present = { token: tokens[0] ?? '' }
      const client = createClient({
        bearerToken: async (refused) => {
          asked.push(refused)
          if (present.token === '') throw new Error('none')
          if (present.token === 'late') return new Promise(() => undefined)
          if (refused === present.token) present.token = tokens[tokens.indexOf(refused) + 1] ?? refused
          return present.token
        },
        fetch: async (_, init) => {
          const token = new Headers(init?.headers).get('authorization')
          sent.push(token)
          if (token === 'Bearer bad') return refusal(401, 'unauthenticated')
          return Response.json({ ticket: 'ort_1' }, { status: 201 })
        },
      })
      const { events } = subscribe(client)
      await settle()
      return { asked, sent, events, present }
    }

    test('goes on with the next token at once when it ends with the last one', async () => {
      const { sent, events } = await renewed('one', 'two')
      server.latest().accept()
      await advance(10_000)
      states = []
      server.latest().cut(4401, 'The credential is no longer valid.')
      await settle()
      expect(server.connections).toHaveLength(2)
      server.latest().accept()
      expect(server.latest().sent).toEqual([createRequest('subscribe', 'a')])
      expect(sent).toEqual(['Bearer one', 'Bearer two'])
      expect(states.map(({ state }) => state)).toEqual(['waiting', 'connecting', 'open'])
      expect(events).toEqual([])
    })

    test('waits if connections end early, although each has another token', async () => {
      await renewed('one', 'two', 'three')
      server.latest().accept()
      server.latest().cut(4401)
      await settle()
      expect(server.connections).toHaveLength(1)
      expect(states.at(-1)).toMatchObject({ state: 'waiting', code: 4401 })
    })

    test('says that it waits while the function returns no next token', async () => {
      const { present, asked } = await renewed('one')
      server.latest().accept()
      await advance(10_000)
      present.token = 'late'
      server.latest().cut(4401, 'The credential is no longer valid.')
      await settle()
      expect(states.at(-1)).toEqual({
        state: 'waiting',
        delayMs: 0,
        code: 4401,
        reason: 'The credential is no longer valid.',
      })
      expect(asked).toEqual([undefined, 'one'])
    })

    test('asks the function again only after a wait if it fails when the token ends', async () => {
      const { present, asked, events } = await renewed('one')
      server.latest().accept()
      await advance(10_000)
      present.token = ''
      server.latest().cut(4401)
      await settle()
      expect(asked).toEqual([undefined, 'one'])
      expect(states.at(-1)).toMatchObject({ state: 'waiting', delayMs: 500 })
      present.token = 'two'
      await backoff()
      expect([server.connections.length, asked, events]).toEqual([2, [undefined, 'one', undefined], []])
    })

    test('ends with a token that has no successor', async () => {
      const { asked, events } = await renewed('one')
      server.latest().accept()
      await advance(10_000)
      server.latest().cut(4401)
      await backoff()
      expect(asked).toEqual([undefined, 'one'])
      expect(events).toEqual(['error 4401'])
    })

    test('opens with the next token if the API gives no ticket for the first', async () => {
      const { sent, events } = await renewed('bad', 'good')
      await backoff()
      expect(sent).toEqual(['Bearer bad', 'Bearer good'])
      expect(server.connections).toHaveLength(1)
      expect(events).toEqual([])
    })

    test('is tried again after the function failed', async () => {
      const { sent, present, events } = await renewed('')
      expect(states.at(-1)).toMatchObject({ state: 'waiting', reason: 'The options gave no token.' })
      present.token = 'one'
      await backoff()
      expect(sent).toEqual(['Bearer one'])
      expect(events).toEqual([])
    })
  })

  test('to an address that the platform refuses is not retried', async () => {
    class WebSocket {
      constructor() {
        throw new Error('A page of https may not connect without TLS.')
      }
    }
    const refusing = WebSocket as unknown as NonNullable<RealtimeOptions['WebSocket']>
    const { events } = subscribe(createClient({ WebSocket: refusing }))
    await settle()
    expect(events).toEqual(['error refused'])
  })

  test('that is lost without subscriptions is reopened at the next subscription', async () => {
    const { client, stop } = await opened()
    stop()
    server.latest().cut(1000, 'Nothing was subscribed to for ten minutes.')
    await backoff()
    expect(server.connections).toHaveLength(1)
    expect(states.at(-1)).toEqual({ state: 'idle' })
    subscribe(client, 'b')
    server.latest().accept()
    expect(server.connections).toHaveLength(2)
    expect(server.latest().sent).toEqual([createRequest('subscribe', 'b')])
  })
})

describe('a listener', () => {
  test('receives the current state, each change, the deletion and the new resource', async () => {
    const updates: unknown[] = []
    const client = createClient()
    const { events } = subscribe(client)
    client.subscribe('liveConfig', 'a', { ...createListener(), onUpdate: (update) => updates.push(update) })
    const connection = server.latest()
    connection.accept()
    connection.missing('a')
    connection.update('a', '1', 1)
    connection.deletion('a', '2')
    connection.update('a', '3', 3)
    expect(events).toEqual(['missing', '1', 'deleted 2', '3'])
    expect(connection.sent).toEqual([createRequest('subscribe', 'a')])
    const resource = { type: 'liveConfig', id: 'a' }
    expect(updates).toEqual([
      { resource, userId: 'ann', version: '1', data: { id: 'a', config: { n: 1 } } },
      { resource, userId: 'ann', version: '3', data: { id: 'a', config: { n: 3 } } },
    ])
  })

  test('that is added later receives the known state once', async () => {
    const { client } = await opened()
    server.latest().update('a', '1')
    const late = subscribe(client)
    expect(late.events).toEqual([])
    await settle()
    expect(late.events).toEqual(['1'])
    const overtaken = subscribe(client)
    server.latest().update('a', '2')
    await settle()
    expect([late.events, overtaken.events]).toEqual([['1', '2'], ['2']])
  })

  test('receives after a reconnect only what it missed', async () => {
    const { client, events } = await opened()
    const same = subscribe(client, 'b')
    const gone = subscribe(client, 'c')
    for (const id of ['a', 'b', 'c']) server.latest().update(id, '1')
    server.latest().cut()
    await backoff()
    server.latest().accept()
    expect(server.latest().sent).toEqual(['a', 'b', 'c'].map((id) => createRequest('subscribe', id)))
    for (let time = 0; time < 2; time += 1) {
      server.latest().update('a', '5')
      server.latest().update('b', '1')
      server.latest().missing('c')
    }
    expect([events, same.events, gone.events]).toEqual([['1', '5'], ['1'], ['1', 'missing']])
    // The document was inaccessible and not deleted, so it returns with the same version.
    server.latest().update('c', '1')
    expect(gone.events).toEqual(['1', 'missing', '1'])
  })

  test('receives nothing from a connection that was abandoned', async () => {
    const { events } = await opened()
    const [first] = server.connections
    first?.cut()
    first?.update('a', '9')
    await backoff()
    server.latest().accept()
    server.latest().update('a', '1')
    expect(events).toEqual(['1'])
  })

  test('receives the permission error, after which its resource is not requested again', async () => {
    const { client, events } = await opened()
    const other = subscribe(client, 'b')
    server.latest().error('a', 'No permission')
    server.latest().update('a', '1')
    server.latest().cut()
    await backoff()
    server.latest().accept()
    expect(server.latest().sent).toEqual([createRequest('subscribe', 'b')])
    expect([events, other.events]).toEqual([['error No permission'], []])
  })

  test('that was removed receives nothing, and the last one of a resource unsubscribes from it', async () => {
    const { client, events, stop } = await opened()
    const other = subscribe(client)
    await settle()
    stop()
    stop()
    server.latest().update('a', '1')
    expect([events, other.events]).toEqual([[], ['1']])
    expect(server.latest().sent).toEqual([createRequest('subscribe', 'a')])
    other.stop()
    expect(server.latest().sent).toEqual([createRequest('subscribe', 'a'), createRequest('unsubscribe', 'a')])
    subscribe(client)
    expect(server.latest().sent.at(-1)).toEqual(createRequest('subscribe', 'a'))
  })

  test('that throws does not affect other listeners', async () => {
    const { client } = await opened()
    const uncaught = vi.fn()
    vi.stubGlobal('queueMicrotask', (call: () => void) => {
      try {
        call()
      } catch (error) {
        uncaught(error)
      }
    })
    const fault = new Error('a fault of the page')
    client.subscribe('liveConfig', 'b', {
      ...createListener(),
      onUpdate: () => {
        throw fault
      },
    })
    const other = subscribe(client, 'b')
    server.latest().update('b', '1')
    vi.unstubAllGlobals()
    expect(other.events).toEqual(['1'])
    expect(uncaught.mock.calls).toEqual([[fault]])
  })

  test.each([
    '',
    '{',
    'null',
    '[]',
    '{"resource":{"type":"liveConfig","id":"a"}}',
    '{"error":"Invalid message format"}',
  ])('ignores the invalid message %s', async (text) => {
    const { events } = await opened()
    server.latest().say(text)
    server.latest().update('a', '1')
    expect(events).toEqual(['1'])
  })
})

describe('a listener of all worlds', () => {
  const world = (worldId: string, version: string) => ({
    worldId,
    projectId: 'prj-1',
    version,
    name: worldId,
    status: {},
  })
  const page = (version: string, worlds: unknown[], snapshot?: { isFirst: boolean; isLast: boolean }) =>
    server.latest().say({ userId: '', resource: { type: 'worlds', id: 'prj-1' }, data: { worlds, snapshot }, version })
  const whole = { isFirst: true, isLast: true }
  const follow = (client: ReturnType<typeof createClient>) => {
    const events: string[] = []
    client.subscribe('worlds', 'prj-1', {
      onUpdate: ({ data, version }) => events.push(`${version}: ${[...data.keys()]}`),
      onMissing: () => events.push('missing'),
      onError: ({ code }) => events.push(code),
    })
    return events
  }

  test('receives the table after each message that changes it, also after a reconnect', async () => {
    const client = createClient()
    const events = follow(client)
    server.latest().accept()
    page('3', [world('a', '1'), world('b', '1')], { isFirst: true, isLast: false })
    page('3', [world('c', '1')], { isFirst: false, isLast: true })
    page('3', [world('d', '1')])
    page('2', [{ worldId: 'a', isDeleted: true }])
    server.latest().cut()
    await backoff()
    server.latest().accept()
    page('4', [world('b', '1'), world('c', '1'), world('d', '1')], whole)
    page('5', [world('c', '1'), world('e', '1')], whole)
    expect(events).toEqual(['3: a,b,c', '3: a,b,c,d', '3: b,c,d', '5: c,e'])
    const late = follow(client)
    await settle()
    expect(late).toEqual(['5: c,e'])
  })

  test('receives that the project is missing, and its worlds once it exists', async () => {
    const events = follow(createClient())
    server.latest().accept()
    page('1', [world('a', '1')], whole)
    server.latest().say({ warning: 'resource_not_found', message: '', resource: { type: 'worlds', id: 'prj-1' } })
    page('2', [world('b', '1')])
    expect(events).toEqual(['1: a', 'missing', '2: b'])
  })

  test.each([[{}], [{ worlds: {} }], [{ worlds: [null] }], [{ worlds: [{}] }]])('ignores the data %j', (data) => {
    const events = follow(createClient())
    server.latest().accept()
    server.latest().say({ userId: '', resource: { type: 'worlds', id: 'prj-1' }, data, version: '1' })
    page('2', [], whole)
    expect(events).toEqual(['2: '])
  })
})

test('the browser bundle contains only the client and bs58', async () => {
  const { metafile } = await build({
    entryPoints: ['client/realtime.ts'],
    bundle: true,
    platform: 'browser',
    format: 'esm',
    write: false,
    metafile: true,
    logLevel: 'silent',
  })
  const foreign = Object.keys(metafile.inputs).filter((file) => !/^(client|node_modules\/(bs58|base-x))\//.test(file))
  expect(foreign).toEqual([])
})

test('a client throws a RangeError for the 129th resource', async () => {
  const { client, stop } = await opened()
  for (let at = 1; at < 128; at += 1) subscribe(client, `doc-${at}`)
  expect(() => subscribe(client, 'one more')).toThrow(RangeError)
  subscribe(client, 'doc-1')
  stop()
  subscribe(client, 'one more')
  expect(server.latest().sent).toHaveLength(128 + 2)
})

test.each<[string, () => Promise<unknown>]>([
  ['while it connects', async () => undefined],
  ['while it is connected', async () => server.latest().accept()],
  ['while it asks why it was refused', async () => server.latest().cut()],
  [
    'while it waits to connect again',
    async () => {
      server.latest().cut()
      await settle()
    },
  ],
])('a client that is closed %s calls no listener, does not reconnect and leaves no timer', async (_, until) => {
  const client = createClient()
  const { events } = subscribe(client)
  await until()
  client.close()
  client.close()
  server.latest().update('a', '1')
  await settle()
  expect(clock.pending).toBe(0)
  await backoff()
  expect(server.connections).toHaveLength(1)
  expect([events, states.at(-1)]).toEqual([[], { state: 'closed' }])
  expect(() => subscribe(client)).toThrow('closed')
})

describe('for any order of messages and disconnections', () => {
  const version = (n: number): string => new Date(Date.UTC(2026, 0, 1) + n).toISOString()
  const step = fc.oneof(
    fc.record({ act: fc.constantFrom('update', 'deletion', 'late'), n: fc.nat(20) }),
    fc.record({ act: fc.constantFrom('missing', 'cut', 'open', 'wait', 'join', 'leave'), n: fc.constant(0) }),
  )
  type Followers = ReturnType<typeof subscribe>[]
  const play = async (
    client: ReturnType<typeof createClient>,
    subscribers: Followers,
    steps: { act: string; n: number }[],
  ) => {
    const acts: Record<string, (n: number) => unknown> = {
      update: (n) => server.latest().update('a', version(n)),
      deletion: (n) => server.latest().deletion('a', version(n)),
      late: (n) => server.connections[0]?.update('a', version(n)),
      missing: () => server.latest().missing('a'),
      cut: () => server.latest().cut(),
      open: () => server.latest().accept(),
      wait: () => clock.advance(30_000),
      join: () => subscribers.push(subscribe(client)),
      leave: () => subscribers.at(-1)?.stop(),
    }
    for (const { act, n } of steps) {
      acts[act]?.(n)
      await settle()
    }
  }

  test('listeners receive each version once, in order, and end with the newest', async () => {
    const run = async (steps: { act: string; n: number }[]): Promise<void> => {
      server = createServer()
      clock = createFakeClock()
      const client = createClient()
      const subscribers = [subscribe(client)]
      await play(client, subscribers, steps)
      // A last subscriber ensures that there is at least one, and the server accepts connections again.
      subscribers.push(subscribe(client))
      server.latest().cut()
      await backoff()
      server.latest().accept()
      server.latest().update('a', version(21))
      await settle()
      for (const { events } of subscribers) {
        const versions = events.filter((each) => each !== 'missing').map((each) => each.replace('deleted ', ''))
        expect(versions).toEqual([...versions].sort())
        expect(events.filter((each, at) => each === events[at - 1])).toEqual([])
      }
      expect(subscribers.at(-1)?.events.at(-1)).toBe(version(21))
      client.close()
    }
    await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 60 }), run), { numRuns: 300 })
  })
})
