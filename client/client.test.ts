import { createServer, type IncomingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ApiError, type Clock, createClient } from './client.ts'
import { systemClock } from './retry.ts'
import { createRequest } from './send.ts'

type Given = { method: string | undefined; url: string | undefined; headers: IncomingHttpHeaders; body: string }
type Told = { status?: number; headers?: Record<string, string>; body?: string; unfinished?: true; silent?: true }

/** A server that tells the answers in turn, the last of them for ever, and keeps what it was asked. */
const startServer = async () => {
  const asked: Given[] = []
  let answers: Told[] = [{}]
  const server = createServer(async (request, response) => {
    const { method, url, headers } = request
    asked.push({ method, url, headers, body: await text(request) })
    const told = (answers.length > 1 ? answers.shift() : answers[0]) ?? {}
    if (told.silent) return
    response.writeHead(told.status ?? 200, told.headers)
    if (told.unfinished) response.write(told.body ?? '')
    else response.end(told.body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    answer: (...more: Told[]) => {
      answers = more
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

const json = (value: unknown, headers: Record<string, string> = {}): Told => ({
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(value),
})
const problem = (status: number, fields: object = {}, headers: Record<string, string> = {}): Told => ({
  status,
  headers: { 'content-type': 'application/problem+json', ...headers },
  body: JSON.stringify({ status, code: 'conflict', detail: 'It runs.', requestId: 'r-1', ...fields }),
})
const busy = problem(503, { code: 'unavailable' }, { 'retry-after': '2' })
const apiKey = 'key-of-the-test'
const aClient = (more: object = {}) => createClient({ baseUrl: server.url, apiKey, ...more })
const aWorld = { name: 'Lobby', transient: false, description: 'A hall', pictureUrl: 'https://example.com/a.png' }
const inWorld = (worldId: string) => ({ params: { worldId } })

/** A clock whose waits end at once, and that keeps how long they would have been. */
const aClock = (): Clock & { waitsMs: number[] } => {
  const waitsMs: number[] = []
  return { now: () => 0, sleep: async (delayMs) => void waitsMs.push(delayMs), waitsMs }
}

describe('a request', () => {
  test('has the path with its parameters encoded, the credential and the scope', async () => {
    server.answer(json({ name: 'Lobby' }))
    const client = aClient({ organizationId: 'org-1', projectId: 'prj-1' })
    expect(await client.getWorld(inWorld('a/b ?#é'))).toEqual({ name: 'Lobby' })
    expect(server.asked).toMatchObject([{ method: 'GET', url: '/api/worlds/a%2Fb%20%3F%23%C3%A9/', body: '' }])
    expect(server.asked[0]?.headers).toMatchObject({
      'x-api-key': apiKey,
      'x-svc-organization-id': 'org-1',
      'x-svc-project-id': 'prj-1',
    })
  })

  test.each(['', '.', '..'])(
    'is not made with the path parameter "%s", which leads to another path',
    async (worldId) => {
      await expect(aClient().deleteWorld(inWorld(worldId))).rejects.toThrow('The path parameter worldId')
      expect(server.asked).toEqual([])
    },
  )

  test('repeats what is a list in its query, and leaves out what is undefined', async () => {
    server.answer(json([]))
    await aClient().listWorldDeployments({ ...inWorld('w'), query: { status: ['Running', 'Error'] } })
    await createRequest({ baseUrl: server.url })('listWorlds', { query: { limit: 5, cursor: undefined } })
    expect(server.asked.map(({ url }) => url)).toEqual([
      '/api/worlds/w/deployments/?status=Running&status=Error',
      '/api/worlds/?limit=5',
    ])
  })

  test('sends its body as JSON', async () => {
    server.answer(json({ worldId: 'w', launchContextId: 'l' }))
    expect(await aClient().createWorld({ body: aWorld })).toEqual({ worldId: 'w', launchContextId: 'l' })
    expect(server.asked[0]).toMatchObject({ method: 'POST', headers: { 'content-type': 'application/json' } })
    expect(JSON.parse(server.asked[0]?.body ?? '')).toEqual(aWorld)
  })

  test('goes to a base address with a path, and with a bearer token where there is one', async () => {
    await createClient({ baseUrl: `${server.url}/orrery/`, bearerToken: 'token' }).startWorld(inWorld('w'))
    expect(server.asked[0]).toMatchObject({ url: '/orrery/api/worlds/w/start/' })
    expect(server.asked[0]?.headers).toMatchObject({ authorization: 'Bearer token' })
    expect(server.asked[0]?.headers).not.toHaveProperty('x-api-key')
  })

  test('of a client in another scope has that scope and nothing of the old one', async () => {
    const client = aClient({ organizationId: 'org-1', projectId: 'prj-1' })
    server.answer(json([]))
    await client.in({ organizationId: 'org-2' }).listWorlds()
    expect(server.asked[0]?.headers).toMatchObject({ 'x-api-key': apiKey, 'x-svc-organization-id': 'org-2' })
    expect(server.asked[0]?.headers).not.toHaveProperty('x-svc-project-id')
  })

  test('is made by the fetch that is given', async () => {
    const answer = async () => new Response('[]', { headers: { 'content-type': 'application/json' } })
    expect(await aClient({ fetch: answer }).listWorlds()).toEqual([])
    expect(server.asked).toEqual([])
  })
})

test('the types take what the API takes, and tell what it answers', () => {
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

describe('an answer', () => {
  test('comes with status and headers for who asks for them', async () => {
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

  test('of bytes is a Blob, and of text a string', async () => {
    server.answer(
      { headers: { 'content-type': 'image/png' }, body: 'png' },
      { headers: { 'content-type': 'text/plain' } },
    )
    const request = createRequest({ baseUrl: server.url })
    const { body: bytes } = await request('getWorld', inWorld('w'))
    expect(bytes).toBeInstanceOf(Blob)
    expect((await request('getWorld', inWorld('w'))).body).toBe('')
  })

  test('that is not the JSON it says it is is an error that does not quote it', async () => {
    server.answer({ headers: { 'content-type': 'application/json' }, body: '{"secret":"abc' })
    const failed = await aClient().listWorlds().catch(String)
    expect(failed).toContain('not the JSON')
    expect(failed).not.toContain('abc')
  })
})

describe('an answer that is not a success', () => {
  const failure = async (call: Promise<unknown>): Promise<ApiError> => {
    const error = await call.catch((thrown: unknown) => thrown)
    if (!(error instanceof ApiError)) throw new Error(`expected an ApiError, not ${String(error)}`)
    return error
  }

  test('is an ApiError with all that its problem document says', async () => {
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

  test('is an ApiError also where a proxy made it', async () => {
    server.answer({ status: 502, headers: { 'x-request-id': 'r-2' }, body: `<html>${'x'.repeat(1_000)}` })
    const error = await failure(aClient().listWorlds())
    expect(error).toMatchObject({ status: 502, code: 'unknown', requestId: 'r-2', errors: [] })
    expect(error.detail).toBe(`<html>${'x'.repeat(194)}`)
  })

  test('never tells the credential, even where it is echoed', async () => {
    const errors = [{ path: 'x-api-key', message: `${apiKey} is old` }]
    server.answer(problem(401, { detail: `No key ${apiKey}`, errors }), { status: 401, body: `No key ${apiKey}` })
    for (const error of [await failure(aClient().listWorlds()), await failure(aClient().listWorlds())]) {
      expect(`${error.stack} ${JSON.stringify(error)}`).not.toContain(apiKey)
      expect(error.detail).toBe('No key [redacted]')
    }
    expect(() => aClient({ apiKey: `${apiKey}\n` })).toThrow(/^apiKey must be visible ASCII/)
  })

  test('is also a redirect, so that the credential goes nowhere else', async () => {
    const other = await startServer()
    server.answer({ status: 307, headers: { location: other.url } })
    expect(await failure(aClient().listWorlds())).toMatchObject({ status: 307, code: 'redirected' })
    expect(other.asked).toEqual([])
    await other.close()
  })
})

describe('the pages of a list', () => {
  const page = (name: string, next?: string): Told => json([{ name }], next ? { link: `<${next}>; rel="next"` } : {})
  const read = async (pages: AsyncIterable<readonly { name: string }[]>): Promise<string[]> => {
    const names: string[] = []
    for await (const each of pages) names.push(...each.map(({ name }) => name))
    return names
  }

  test('are followed to the last', async () => {
    server.answer(
      page('a', '/api/worlds/?limit=1&cursor=x%3D'),
      page('b', 'http://elsewhere.example/?cursor=y'),
      page('c'),
    )
    const client = aClient({ organizationId: 'org-1' })
    expect(await read(client.pages('listWorlds', { query: { limit: 1 } }))).toEqual(['a', 'b', 'c'])
    const urls = ['/api/worlds/?limit=1', '/api/worlds/?limit=1&cursor=x%3D', '/api/worlds/?cursor=y']
    expect(server.asked.map(({ url }) => url)).toEqual(urls)
    expect(server.asked.map(({ headers }) => headers['x-svc-organization-id'])).toEqual(['org-1', 'org-1', 'org-1'])
  })

  test('are read no further than the loop goes', async () => {
    server.answer(page('a', '?cursor=x'))
    for await (const worlds of aClient().pages('listWorlds')) if (worlds.length > 0) break
    expect(server.asked).toHaveLength(1)
  })

  test('are an error after the most that are wanted, when there are more', async () => {
    server.answer(page('a', '?cursor=x'))
    await expect(read(aClient().pages('listWorlds', { maxPages: 3 }))).rejects.toThrow('more than 3 pages')
    expect(server.asked).toHaveLength(3)
    server.answer(page('a', '?cursor=x'), page('b'))
    expect(await read(aClient().pages('listWorlds', { maxPages: 2 }))).toEqual(['a', 'b'])
  })
})

describe('a request that the API cannot serve now', () => {
  test.each([503, 429])('is tried again after the time that is asked for, on %i', async (status) => {
    const clock = aClock()
    server.answer({ ...busy, status }, json([]))
    expect(await aClient({ clock }).listWorlds()).toEqual([])
    expect(clock.waitsMs).toEqual([2_000])
  })

  test('is tried again by the clock of this machine unless another is given', async () => {
    server.answer(problem(503, {}, { 'retry-after': '0' }), json([]))
    expect(await aClient().listWorlds()).toEqual([])
  })

  test('is tried again at the date that is asked for', async () => {
    const clock = aClock()
    server.answer(problem(503, {}, { 'retry-after': 'Thu, 01 Jan 1970 00:00:03 GMT' }), {})
    await aClient({ clock }).deleteWorld(inWorld('w'))
    expect(clock.waitsMs).toEqual([3_000])
  })

  test('is given up after the most retries', async () => {
    const clock = aClock()
    server.answer(busy)
    await expect(aClient({ clock }).listWorlds()).rejects.toMatchObject({ status: 503, retryAfterSeconds: 2 })
    await expect(aClient({ clock, maxRetries: 0 }).listWorlds()).rejects.toMatchObject({ status: 503 })
    expect(server.asked).toHaveLength(3 + 1)
  })

  test('is given up before it waits more than 10 s in all', async () => {
    const clock = aClock()
    server.answer(problem(503, {}, { 'retry-after': '6' }))
    await expect(aClient({ clock, maxRetries: 9 }).listWorlds()).rejects.toMatchObject({ status: 503 })
    expect(clock.waitsMs).toEqual([6_000])
  })

  test('is not tried again where the answer does not say when, or is another', async () => {
    const clock = aClock()
    server.answer(problem(503), problem(500, {}, { 'retry-after': '1' }))
    await expect(aClient({ clock }).listWorlds()).rejects.toMatchObject({ status: 503 })
    await expect(aClient({ clock }).listWorlds()).rejects.toMatchObject({ status: 500 })
    expect(server.asked).toHaveLength(2)
  })

  test('is not tried again where twice may be more than once', async () => {
    const clock = aClock()
    server.answer(busy)
    await expect(aClient({ clock }).createWorld({ body: aWorld })).rejects.toMatchObject({ status: 503 })
    await expect(aClient({ clock }).patchWorld({ ...inWorld('w'), body: aWorld })).rejects.toBeInstanceOf(ApiError)
    expect(server.asked).toHaveLength(2)
  })

  test('is tried again, whatever its method, where the API knows it by its key', async () => {
    server.answer(busy, json({ worldId: 'w' }))
    const request = createRequest({ baseUrl: server.url, clock: aClock() })
    const made = await request('createWorld', { headers: { 'Idempotency-Key': 'k' }, body: aWorld })
    expect(made.body).toEqual({ worldId: 'w' })
    expect(server.asked.map(({ body }) => JSON.parse(body))).toEqual([aWorld, aWorld])
  })
})

describe('a request that takes too long', () => {
  test.each<[string, Told]>([
    ['without an answer', { silent: true }],
    ['with half of an answer', { ...json([]), body: '[', unfinished: true }],
  ])('ends %s, and says which it was', async (_, told) => {
    server.answer(told)
    const failed = aClient({ timeoutMs: 200 }).listWorlds()
    await expect(failed).rejects.toMatchObject({
      name: 'TimeoutError',
      message: 'listWorlds was not answered within 200 ms.',
    })
  })

  test('ends when its caller aborts it, under way or before', async () => {
    server.answer({ silent: true })
    const controller = new AbortController()
    const failed = aClient().listWorlds({ signal: controller.signal })
    controller.abort(new Error('enough'))
    await expect(failed).rejects.toThrow('enough')
    await expect(aClient().listWorlds({ signal: controller.signal })).rejects.toThrow('enough')
  })

  test('ends in a wait before its repetition when its caller aborts it', async () => {
    server.answer(busy)
    const controller = new AbortController()
    const sleep: Clock['sleep'] = (delayMs, signal) => {
      const waiting = systemClock.sleep(delayMs, signal)
      controller.abort(new Error('enough'))
      return waiting
    }
    const client = aClient({ clock: { now: () => 0, sleep } })
    await expect(client.listWorlds({ signal: controller.signal })).rejects.toThrow('enough')
    expect(server.asked).toHaveLength(1)
  })

  test('may not have a time that no timer can wait', () => {
    expect(() => aClient({ timeoutMs: 2 ** 31 })).toThrow(RangeError)
  })
})
