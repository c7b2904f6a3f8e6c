import { createServer, type IncomingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ApiError, type Clock, createClient } from './client.ts'
import { systemClock } from './retry.ts'
import { createRequest } from './send.ts'

type ServerRequest = { method: string | undefined; url: string | undefined; headers: IncomingHttpHeaders; body: string }
type ServerResponse = {
  status?: number
  headers?: Record<string, string>
  body?: string
  unfinished?: true
  silent?: true
}

/** A server that returns the given responses in order, repeats the last one, and records the requests. */
const startServer = async () => {
  const requests: ServerRequest[] = []
  let responses: ServerResponse[] = [{}]
  const server = createServer(async (request, response) => {
    const { method, url, headers } = request
    requests.push({ method, url, headers, body: await text(request) })
    const next = (responses.length > 1 ? responses.shift() : responses[0]) ?? {}
    if (next.silent) return
    response.writeHead(next.status ?? 200, next.headers)
    if (next.unfinished) response.write(next.body ?? '')
    else response.end(next.body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    answer: (...more: ServerResponse[]) => {
      responses = more
    },
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}

let server: Awaited<ReturnType<typeof startServer>>
beforeEach(async () => {
  server = await startServer()
})
afterEach(() => server.close())

const json = (value: unknown, headers: Record<string, string> = {}): ServerResponse => ({
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(value),
})
const problem = (status: number, fields: object = {}, headers: Record<string, string> = {}): ServerResponse => ({
  status,
  headers: { 'content-type': 'application/problem+json', ...headers },
  body: JSON.stringify({ status, code: 'conflict', detail: 'It runs.', requestId: 'r-1', ...fields }),
})
const busy = problem(503, { code: 'unavailable' }, { 'retry-after': '2' })
const apiKey = 'key-of-the-test'
const aClient = (more: object = {}) => createClient({ baseUrl: server.url, apiKey, ...more })
const aWorld = { name: 'Lobby', transient: false, description: 'A hall', pictureUrl: 'https://example.com/a.png' }
const inWorld = (worldId: string) => ({ params: { worldId } })

/** Creates a clock whose waits end at once and are recorded. */
const aClock = (): Clock & { waitsMs: number[] } => {
  const waitsMs: number[] = []
  return { now: () => 0, sleep: async (delayMs) => void waitsMs.push(delayMs), waitsMs }
}

describe('a request', () => {
  test('has encoded path parameters, the credential and the scope', async () => {
    server.answer(json({ name: 'Lobby' }))
    const client = aClient({ organizationId: 'org-1', projectId: 'prj-1' })
    expect(await client.getWorld(inWorld('a/b ?#é'))).toEqual({ name: 'Lobby' })
    expect(server.requests).toMatchObject([{ method: 'GET', url: '/api/worlds/a%2Fb%20%3F%23%C3%A9/', body: '' }])
    expect(server.requests[0]?.headers).toMatchObject({
      'x-api-key': apiKey,
      'x-svc-organization-id': 'org-1',
      'x-svc-project-id': 'prj-1',
    })
  })

  test.each(['', '.', '..'])(
    'is rejected for the path parameter "%s", which would change the path',
    async (worldId) => {
      await expect(aClient().deleteWorld(inWorld(worldId))).rejects.toThrow('The path parameter worldId')
      expect(server.requests).toEqual([])
    },
  )

  test('repeats query parameters that are lists and omits undefined ones', async () => {
    server.answer(json([]))
    await aClient().listWorldDeployments({ ...inWorld('w'), query: { status: ['Running', 'Error'] } })
    await createRequest({ baseUrl: server.url })('listWorlds', { query: { limit: 5, cursor: undefined } })
    expect(server.requests.map(({ url }) => url)).toEqual([
      '/api/worlds/w/deployments/?status=Running&status=Error',
      '/api/worlds/?limit=5',
    ])
  })

  test('sends its body as JSON', async () => {
    server.answer(json({ worldId: 'w', launchContextId: 'l' }))
    expect(await aClient().createWorld({ body: aWorld })).toEqual({ worldId: 'w', launchContextId: 'l' })
    expect(server.requests[0]).toMatchObject({ method: 'POST', headers: { 'content-type': 'application/json' } })
    expect(JSON.parse(server.requests[0]?.body ?? '')).toEqual(aWorld)
  })

  test('supports a base URL with a path, and a bearer token', async () => {
    await createClient({ baseUrl: `${server.url}/orrery/`, bearerToken: 'token' }).startWorld(inWorld('w'))
    expect(server.requests[0]).toMatchObject({ url: '/orrery/api/worlds/w/start/' })
    expect(server.requests[0]?.headers).toMatchObject({ authorization: 'Bearer token' })
    expect(server.requests[0]?.headers).not.toHaveProperty('x-api-key')
  })

  describe('with a function that returns the token', () => {
    /** A client whose function returns the tokens in order, and the last one again and again. */
    const withTokens = (...tokens: string[]) => {
      const refused: (string | undefined)[] = []
      const bearerToken = async (token?: string): Promise<string> => {
        refused.push(token)
        return (tokens.length > 1 ? tokens.shift() : tokens[0]) ?? ''
      }
      return { client: createClient({ baseUrl: server.url, bearerToken }), refused }
    }
    const sent = () => server.requests.map(({ headers }) => headers.authorization)

    test('has the token of its time, in every scope', async () => {
      const { client } = withTokens('one', 'two')
      await client.startWorld(inWorld('w'))
      await client.in({ projectId: 'p' }).startWorld(inWorld('w'))
      expect(sent()).toEqual(['Bearer one', 'Bearer two'])
    })

    test('is sent once more, with its body, if the API refuses the token and there is another', async () => {
      server.answer(problem(401), json({ worldId: 'w' }))
      const { client, refused } = withTokens('one', 'two')
      expect(await client.createWorld({ body: aWorld })).toEqual({ worldId: 'w' })
      expect(sent()).toEqual(['Bearer one', 'Bearer two'])
      expect(server.requests[0]?.body).toBe(server.requests[1]?.body)
      expect(refused).toEqual([undefined, 'one'])
    })

    test('is refused if there is no other one, and if the other one is refused too', async () => {
      server.answer(problem(401, { detail: 'No one, no two.' }))
      const { client } = withTokens('one')
      await expect(client.listWorlds()).rejects.toMatchObject({ status: 401, detail: 'No [redacted], no two.' })
      expect(sent()).toEqual(['Bearer one'])
      const other = withTokens('one', 'two')
      await expect(other.client.listWorlds()).rejects.toMatchObject({ status: 401, detail: 'No one, no [redacted].' })
      expect(sent()).toEqual(['Bearer one', 'Bearer one', 'Bearer two'])
      expect(other.refused).toEqual([undefined, 'one', 'two'])
    })

    test('keeps its refusal if the function fails for the second token', async () => {
      server.answer(problem(401))
      const bearerToken = (refused?: string): string => {
        if (refused === 'two') throw new Error('none')
        return refused === undefined ? 'one' : 'two'
      }
      const client = createClient({ baseUrl: server.url, bearerToken })
      await expect(client.listWorlds()).rejects.toMatchObject({ status: 401 })
      expect(sent()).toEqual(['Bearer one', 'Bearer two'])
    })

    test('is rejected with the error of the function, and after the timeout if it returns nothing', async () => {
      const failing = createClient({ baseUrl: server.url, bearerToken: () => Promise.reject(new Error('expired')) })
      await expect(failing.listWorlds()).rejects.toThrow('expired')
      const silent = createClient({
        baseUrl: server.url,
        timeoutMs: 100,
        bearerToken: () => new Promise(() => undefined),
      })
      await expect(silent.listWorlds()).rejects.toMatchObject({ name: 'TimeoutError' })
      expect(server.requests).toEqual([])
    })
  })

  test('of a client in another scope has only the new scope', async () => {
    const client = aClient({ organizationId: 'org-1', projectId: 'prj-1' })
    server.answer(json([]))
    await client.in({ organizationId: 'org-2' }).listWorlds()
    expect(server.requests[0]?.headers).toMatchObject({ 'x-api-key': apiKey, 'x-svc-organization-id': 'org-2' })
    expect(server.requests[0]?.headers).not.toHaveProperty('x-svc-project-id')
  })

  test('uses the fetch of the options', async () => {
    const answer = async () => new Response('[]', { headers: { 'content-type': 'application/json' } })
    expect(await aClient({ fetch: answer }).listWorlds()).toEqual([])
    expect(server.requests).toEqual([])
  })
})

test('the types accept valid input only and describe the response', () => {
  const checked = async () => {
    const client = aClient()
    const { body } = await client.request('getWorld', inWorld('w'))
    body.name satisfies string
    for await (const page of client.pages('listWorlds')) page.map(({ documentId }) => documentId satisfies string)
    // @ts-expect-error: the world is missing
    await client.getWorld()
    // @ts-expect-error: there is no such query parameter
    await client.listWorlds({ query: { limitt: 1 } })
    // @ts-expect-error: this operation has no body
    await client.listWorlds({ body: {} })
    // @ts-expect-error: this is no list
    client.pages('getWorld', inWorld('w'))
  }
  expect(checked).toBeTypeOf('function')
})

describe('a response', () => {
  test('is returned with status and headers by request()', async () => {
    server.answer(json({ name: 'Lobby' }, { etag: '"1.2"' }))
    const { status, headers, body } = await aClient().request('getWorld', inWorld('w'))
    expect({ status, etag: headers.get('etag'), name: body.name }).toEqual({
      status: 200,
      etag: '"1.2"',
      name: 'Lobby',
    })
  })

  test('without a body is undefined', async () => {
    expect(await aClient().stopWorld(inWorld('w'))).toBeUndefined()
  })

  test('is a Blob for bytes and a string for text', async () => {
    server.answer(
      { headers: { 'content-type': 'image/png' }, body: 'png' },
      { headers: { 'content-type': 'text/plain' } },
    )
    const request = createRequest({ baseUrl: server.url })
    const { body: bytes } = await request('getWorld', inWorld('w'))
    expect(bytes).toBeInstanceOf(Blob)
    expect((await request('getWorld', inWorld('w'))).body).toBe('')
  })

  test('with invalid JSON is an error that does not quote it', async () => {
    server.answer({ headers: { 'content-type': 'application/json' }, body: '{"secret":"abc' })
    const failed = await aClient().listWorlds().catch(String)
    expect(failed).toContain('not valid JSON')
    expect(failed).not.toContain('abc')
  })
})

describe('an error response', () => {
  const failure = async (call: Promise<unknown>): Promise<ApiError> => {
    const error = await call.catch((thrown: unknown) => thrown)
    if (!(error instanceof ApiError)) throw new Error(`expected an ApiError, not ${String(error)}`)
    return error
  }

  test('is an ApiError with the fields of its problem document', async () => {
    const errors = [{ path: '/name', message: 'is too long' }]
    server.answer(problem(400, { code: 'invalid_request', detail: 'See errors.', errors }))
    const error = await failure(aClient().createWorld({ body: aWorld }))
    const { status, code, detail, requestId, retryAfterSeconds } = error
    expect({ status, code, detail, requestId, retryAfterSeconds, errors: error.errors }).toEqual({
      status: 400,
      code: 'invalid_request',
      detail: 'See errors.',
      requestId: 'r-1',
      retryAfterSeconds: undefined,
      errors,
    })
    expect(error.message).toBe('createWorld was answered 400 invalid_request: See errors.; /name: is too long')
  })

  test('of a proxy is an ApiError too', async () => {
    server.answer({ status: 502, headers: { 'x-request-id': 'r-2' }, body: `<html>${'x'.repeat(1_000)}` })
    const error = await failure(aClient().listWorlds())
    expect(error).toMatchObject({ status: 502, code: 'unknown', requestId: 'r-2', errors: [] })
    expect(error.detail).toBe(`<html>${'x'.repeat(194)}`)
  })

  test('never shows the credential, even if the response echoes it', async () => {
    const errors = [{ path: 'x-api-key', message: `${apiKey} is old` }]
    server.answer(problem(401, { detail: `No key ${apiKey}`, errors }), { status: 401, body: `No key ${apiKey}` })
    for (const error of [await failure(aClient().listWorlds()), await failure(aClient().listWorlds())]) {
      expect(`${error.stack} ${JSON.stringify(error)}`).not.toContain(apiKey)
      expect(error.detail).toBe('No key [redacted]')
    }
    expect(() => aClient({ apiKey: `${apiKey}\n` })).toThrow(/^apiKey must contain only visible ASCII/)
  })

  test('includes a redirect, so that the credential is sent nowhere else', async () => {
    const other = await startServer()
    server.answer({ status: 307, headers: { location: other.url } })
    expect(await failure(aClient().listWorlds())).toMatchObject({ status: 307, code: 'redirected' })
    expect(other.requests).toEqual([])
    await other.close()
  })
})

describe('the pages of a list', () => {
  const page = (name: string, next?: string): ServerResponse =>
    json([{ name }], next ? { link: `<${next}>; rel="next"` } : {})
  const read = async (pages: AsyncIterable<readonly { name: string }[]>): Promise<string[]> => {
    const names: string[] = []
    for await (const each of pages) names.push(...each.map(({ name }) => name))
    return names
  }

  test('are all read', async () => {
    server.answer(
      page('a', '/api/worlds/?limit=1&cursor=x%3D'),
      page('b', 'http://elsewhere.example/?cursor=y'),
      page('c'),
    )
    const client = aClient({ organizationId: 'org-1' })
    expect(await read(client.pages('listWorlds', { query: { limit: 1 } }))).toEqual(['a', 'b', 'c'])
    const urls = ['/api/worlds/?limit=1', '/api/worlds/?limit=1&cursor=x%3D', '/api/worlds/?cursor=y']
    expect(server.requests.map(({ url }) => url)).toEqual(urls)
    expect(server.requests.map(({ headers }) => headers['x-svc-organization-id'])).toEqual(['org-1', 'org-1', 'org-1'])
  })

  test('are not read after the loop ends', async () => {
    server.answer(page('a', '?cursor=x'))
    for await (const worlds of aClient().pages('listWorlds')) if (worlds.length > 0) break
    expect(server.requests).toHaveLength(1)
  })

  test('throw after maxPages if there are more', async () => {
    server.answer(page('a', '?cursor=x'))
    await expect(read(aClient().pages('listWorlds', { maxPages: 3 }))).rejects.toThrow('more than 3 pages')
    expect(server.requests).toHaveLength(3)
    server.answer(page('a', '?cursor=x'), page('b'))
    expect(await read(aClient().pages('listWorlds', { maxPages: 2 }))).toEqual(['a', 'b'])
  })
})

describe('a request that the API cannot serve now', () => {
  test.each([503, 429])('is retried after the seconds in Retry-After for the status %i', async (status) => {
    const clock = aClock()
    server.answer({ ...busy, status }, json([]))
    expect(await aClient({ clock }).listWorlds()).toEqual([])
    expect(clock.waitsMs).toEqual([2_000])
  })

  test('is retried by the system clock by default', async () => {
    server.answer(problem(503, {}, { 'retry-after': '0' }), json([]))
    expect(await aClient().listWorlds()).toEqual([])
  })

  test('is retried at the date in Retry-After', async () => {
    const clock = aClock()
    server.answer(problem(503, {}, { 'retry-after': 'Thu, 01 Jan 1970 00:00:03 GMT' }), {})
    await aClient({ clock }).deleteWorld(inWorld('w'))
    expect(clock.waitsMs).toEqual([3_000])
  })

  test('is rejected after maxRetries', async () => {
    const clock = aClock()
    server.answer(busy)
    await expect(aClient({ clock }).listWorlds()).rejects.toMatchObject({ status: 503, retryAfterSeconds: 2 })
    await expect(aClient({ clock, maxRetries: 0 }).listWorlds()).rejects.toMatchObject({ status: 503 })
    expect(server.requests).toHaveLength(3 + 1)
  })

  test('is rejected before it waits more than 10 s in all', async () => {
    const clock = aClock()
    server.answer(problem(503, {}, { 'retry-after': '6' }))
    await expect(aClient({ clock, maxRetries: 9 }).listWorlds()).rejects.toMatchObject({ status: 503 })
    expect(clock.waitsMs).toEqual([6_000])
  })

  test('is not retried without Retry-After or for another status', async () => {
    const clock = aClock()
    server.answer(problem(503), problem(500, {}, { 'retry-after': '1' }))
    await expect(aClient({ clock }).listWorlds()).rejects.toMatchObject({ status: 503 })
    await expect(aClient({ clock }).listWorlds()).rejects.toMatchObject({ status: 500 })
    expect(server.requests).toHaveLength(2)
  })

  test('is not retried if the method is not repeatable', async () => {
    const clock = aClock()
    server.answer(busy)
    await expect(aClient({ clock }).createWorld({ body: aWorld })).rejects.toMatchObject({ status: 503 })
    await expect(aClient({ clock }).patchWorld({ ...inWorld('w'), body: aWorld })).rejects.toBeInstanceOf(ApiError)
    expect(server.requests).toHaveLength(2)
  })

  test('is retried for any method with an idempotency key', async () => {
    server.answer(busy, json({ worldId: 'w' }))
    const request = createRequest({ baseUrl: server.url, clock: aClock() })
    const made = await request('createWorld', { headers: { 'Idempotency-Key': 'k' }, body: aWorld })
    expect(made.body).toEqual({ worldId: 'w' })
    expect(server.requests.map(({ body }) => JSON.parse(body))).toEqual([aWorld, aWorld])
  })
})

describe('a request that takes too long', () => {
  test.each<[string, ServerResponse]>([
    ['without an answer', { silent: true }],
    ['with half of an answer', { ...json([]), body: '[', unfinished: true }],
  ])('ends %s with an error that names the operation', async (_, response) => {
    server.answer(response)
    const failed = aClient({ timeoutMs: 200 }).listWorlds()
    await expect(failed).rejects.toMatchObject({
      name: 'TimeoutError',
      message: 'listWorlds was not answered within 200 ms.',
    })
  })

  test('ends when the caller aborts it, before or after it started', async () => {
    server.answer({ silent: true })
    const controller = new AbortController()
    const failed = aClient().listWorlds({ signal: controller.signal })
    controller.abort(new Error('enough'))
    await expect(failed).rejects.toThrow('enough')
    await expect(aClient().listWorlds({ signal: controller.signal })).rejects.toThrow('enough')
  })

  test('ends during the wait before a retry when the caller aborts it', async () => {
    server.answer(busy)
    const controller = new AbortController()
    const sleep: Clock['sleep'] = (delayMs, signal) => {
      const waiting = systemClock.sleep(delayMs, signal)
      controller.abort(new Error('enough'))
      return waiting
    }
    const client = aClient({ clock: { now: () => 0, sleep } })
    await expect(client.listWorlds({ signal: controller.signal })).rejects.toThrow('enough')
    expect(server.requests).toHaveLength(1)
  })

  test('is rejected for a timeout beyond the limit of a timer', () => {
    expect(() => aClient({ timeoutMs: 2 ** 31 })).toThrow(RangeError)
  })
})
