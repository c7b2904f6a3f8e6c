import { request as httpRequest } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiProcess, aDatabase, rootApiKey, startApi } from '#test/support/processes.ts'
import { type Answer, createRest } from '#test/support/rest.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const origin = 'https://play.example.com'
let api: ApiProcess
let tenant: Tenant
beforeAll(async () => {
  const settings = { ORRERY_ALLOWED_ORIGINS: origin }
  api = await startApi({ databaseUrl: await aDatabase(), settings })
  tenant = await aTenant(api.url)
})
afterAll(() => api?.stop())

const lobby = { name: 'Lobby', transient: false }
type Listed = { documentId: string; name: string }

describe('an Idempotency-Key', () => {
  const once = (key: string, body: object = lobby, rest = tenant.rest) =>
    rest.call<{ worldId: string; code: string }>('POST', '/api/worlds/', body, { 'idempotency-key': key })

  test('creates one resource for repeated requests, also concurrent ones, and marks replays', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => once('many')))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(new Set(answers.map(({ body }) => body.worldId)).size).toBe(1)
    expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === null)).toHaveLength(1)
  })

  test('with another body returns 409, and another key creates another resource', async () => {
    const first = await once('body')
    expect(await once('body', { ...lobby, name: 'Other' })).toMatchObject({ status: 409, body: { code: 'conflict' } })
    expect((await once('body-2')).body.worldId).not.toBe(first.body.worldId)
  })

  test('compares the body as JSON, with its members in any order', async () => {
    const runtime = { mapName: 'Plaza', capacity: 5 }
    const first = await once('order', { ...lobby, runtime })
    const again = await once('order', { runtime: { capacity: 5, mapName: 'Plaza' }, transient: false, name: 'Lobby' })
    expect([again.status, again.body, again.headers.get('idempotency-replayed')]).toEqual([200, first.body, 'true'])
  })

  test('with another project or path returns 409', async () => {
    const { rest, scope } = tenant
    await once('project')
    const made = await rest.call<{ projectId: string }>('POST', '/api/organizations/projects/', { name: 'Other' })
    const other = createRest(api.url, { ...scope, projectId: made.body.projectId })
    expect((await once('project', lobby, other)).status).toBe(409)
    const bots = async () =>
      rest.call('POST', `/api/worlds/${await tenant.world()}/bots/`, { count: 1 }, { 'idempotency-key': 'path' })
    expect([(await bots()).status, (await bots()).status]).toEqual([200, 409])
  })

  test('is separate for each principal and route', async () => {
    const everything = [`${tenant.paths.organization}/**:*`]
    const clients = [await tenant.withKey(everything), await tenant.withKey(everything)]
    const ids = await Promise.all(clients.map(async (rest) => (await once('shared', lobby, rest)).body.worldId))
    expect(new Set(ids).size).toBe(2)
    const project = await clients[0]?.call(
      'POST',
      '/api/organizations/projects/',
      { name: 'P' },
      {
        'idempotency-key': 'shared',
      },
    )
    expect(project?.status).toBe(200)
  })

  test('replays the location of bots and the string of a key, but no errors', async () => {
    const worldId = await tenant.world({ networking: { scaling: { profile: 'Capacity10' } } })
    const key = { 'idempotency-key': 'all' }
    const bots = () => tenant.rest.call('POST', `/api/worlds/${worldId}/bots/`, { count: 10 }, key)
    const [first, second] = [await bots(), await bots()]
    expect(second.headers.get('location')).toBe(first.headers.get('location'))
    const made = () =>
      tenant.rest.call<{ apiKey: string }>('POST', '/api/organizations/apiKeys/', { displayName: 'K' }, key)
    expect((await made()).body.apiKey).toBe((await made()).body.apiKey)
    const full = { 'idempotency-key': 'full' }
    const one = () => tenant.rest.call('POST', `/api/worlds/${worldId}/bots/`, { count: 1 }, full)
    expect((await one()).status).toBe(409)
    await tenant.rest.call('DELETE', first.headers.get('location') ?? '')
    expect((await one()).status).toBe(200)
  })

  test.each([
    ['with a space', 'a b'],
    ['of 256 characters', 'x'.repeat(256)],
  ])('%s is refused', async (_, key) => {
    expect((await once(key)).status).toBe(400)
  })
})

describe('pages', () => {
  /** Reads page by page, and calls `between` between two pages. */
  const walk = async (rest: Tenant['rest'], path: string, between: () => Promise<unknown>): Promise<Listed[][]> => {
    const pages: Listed[][] = []
    for (let next: string | undefined = path; next !== undefined && pages.length < 200; ) {
      const page: Answer<Listed[]> = await rest.call<Listed[]>('GET', next)
      expect(page.status).toBe(200)
      pages.push(page.body)
      next = /<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1]
      if (next) await between()
    }
    return pages
  }

  test.each([1, 2, 3, 7, 100])('of %i return every row once, in order, while rows are added', async (limit) => {
    const own = await aTenant(api.url)
    const before: string[] = []
    for (let at = 0; at < 9; at += 1) before.push(await own.world({ name: `World ${at}` }))
    let added = 0
    const pages = await walk(own.rest, `/api/worlds/?limit=${limit}`, async () => {
      if (added < 5) await own.world({ name: `Late ${added++}` })
    })
    for (const page of pages) expect(page.length).toBeLessThanOrEqual(limit)
    const ids = pages.flat().map(({ documentId }) => documentId)
    expect(ids.slice(0, before.length)).toEqual(before)
    expect(new Set(ids).size).toBe(ids.length)
    expect([...ids].sort()).toEqual(ids)
  })

  test('are served by every list', async () => {
    for (const name of ['One', 'Two', 'Three']) {
      await tenant.rest.call('POST', '/api/organizations/projects/', { name })
      await tenant.key([], {})
    }
    for (const list of ['/api/organizations/projects/', '/api/organizations/apiKeys/', '/api/organizations/']) {
      // The API records the last use of a key later, so it may come between the reads.
      await eventually(`the pages of ${list} are the list`, async () => {
        const all = await tenant.rest.call<Listed[]>('GET', list)
        expect(all.body.length).toBeGreaterThan(0)
        expect((await walk(tenant.rest, `${list}?limit=2`, async () => undefined)).flat()).toEqual(all.body)
        return true
      })
    }
  })

  test.each(['limit=0', 'limit=1001', 'limit=x', 'limit=-1', 'limit=1&limit=2', 'cursor=x', 'cursor=0.wld-x'])(
    '?%s is refused',
    async (query) => {
      expect((await tenant.rest.call('GET', `/api/worlds/?${query}`)).status).toBe(400)
    },
  )
})

describe('every answer', () => {
  test('has the security headers and a request id, also for errors and unknown routes', async () => {
    for (const path of ['/api/worlds/', '/api/nothing/', '/api/worlds/public/', '/nothing']) {
      const answer = await fetch(`${api.url}${path}`)
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'x-request-id': expect.stringMatching(/^[A-Za-z0-9._-]{1,64}$/),
      })
      expect(answer.headers.get('content-type')).toBe('application/problem+json')
      await answer.text()
    }
  })

  test('has CORS headers for allowed origins only, also for errors', async () => {
    const ask = (from: string, method = 'GET', headers = {}) =>
      fetch(`${api.url}/api/worlds/`, { method, headers: { origin: from, ...headers } })
    const preflight = await ask(origin, 'OPTIONS', { 'access-control-request-method': 'PATCH' })
    expect(preflight.status).toBe(204)
    expect(Object.fromEntries(preflight.headers)).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': expect.stringContaining('PATCH'),
      'access-control-allow-headers': expect.stringContaining('x-api-key'),
    })
    expect(preflight.headers.get('access-control-allow-credentials')).toBeNull()
    const fault = await ask(origin)
    expect([fault.status, fault.headers.get('access-control-allow-origin')]).toEqual([401, origin])
    const other = await ask('https://evil.example', 'OPTIONS', { 'access-control-request-method': 'GET' })
    expect([other.status, other.headers.get('access-control-allow-origin')]).toEqual([405, null])
  })
})

describe('a path', () => {
  test.each([
    ['PUT', '/api/worlds/', 405, 'GET, POST'],
    ['DELETE', '/api/worlds', 405, 'GET, POST'],
    ['POST', '/api/worlds/wld-x/', 405, 'DELETE, GET, PATCH'],
    ['GET', '/api/worlds/wld-x/start/', 405, 'POST'],
    ['POST', '/livez', 405, 'GET'],
    ['PATCH', '/readyz', 405, 'GET'],
    ['POST', '/api/openapi.json', 405, 'GET'],
    ['PUT', '/api/docs/', 405, 'GET'],
    ['DELETE', '/api/docs/start.js', 405, 'GET'],
    ['POST', '/api/files/x/', 405, 'GET'],
    ['DELETE', '/api/files/pictures/wld-x/a.webp', 405, 'GET'],
    ['OPTIONS', '/api/files/x', 405, 'GET'],
    ['POST', '/api/realtime/connect/', 405, 'GET'],
    ['GET', '/api/files/x/', 404, null],
    ['GET', '/livez/', 404, null],
    ['GET', '/api/openapi.json/', 404, null],
    ['GET', '/api/worlds/a/b/c/d/', 404, null],
    ['GET', '/api//worlds/', 404, null],
  ])('%s %s is %i', async (method, path, status, allow) => {
    const answer = await fetch(`${api.url}${path}`, { method })
    expect([answer.status, answer.headers.get('allow')]).toEqual([status, allow])
    expect(((await answer.json()) as { status: number }).status).toBe(status)
  })
})

describe('a body', () => {
  const post = (headers: Record<string, string>, chunks: readonly Buffer[]) =>
    new Promise<number>((resolve, reject) => {
      const { organizationId, projectId } = tenant.scope
      const sent = httpRequest(`${api.url}/api/worlds/`, {
        method: 'POST',
        headers: {
          'x-api-key': rootApiKey,
          'x-svc-organization-id': organizationId,
          'x-svc-project-id': projectId,
          'content-type': 'application/json',
          ...headers,
        },
      })
      sent.on('response', (answer) => {
        answer.resume()
        resolve(answer.statusCode ?? 0)
      })
      sent.on('error', reject)
      for (const chunk of chunks) sent.write(chunk)
      sent.end()
    })
  const padded = (bytes: number): Buffer => Buffer.from(JSON.stringify(lobby).padEnd(bytes, ' '))
  const mebibyte = 1024 * 1024

  test('of 1 MiB is accepted, and one byte more returns 413', async () => {
    for (const headers of [{}, { 'transfer-encoding': 'chunked' }]) {
      const length = (bytes: number): Record<string, string> =>
        'transfer-encoding' in headers ? headers : { 'content-length': String(bytes) }
      expect(await post(length(mebibyte), [padded(mebibyte)])).toBe(200)
      expect(await post(length(mebibyte + 1), [padded(mebibyte + 1)])).toBe(413)
    }
    const many = Array.from({ length: 32 }, () => Buffer.alloc(mebibyte / 8, ' '))
    expect(await post({ 'transfer-encoding': 'chunked' }, many)).toBe(413)
  })

  test.each([
    ['that is empty', '', 400, 'malformed_json'],
    ['that is no JSON', '{"name"', 400, 'malformed_json'],
    ['with two values', '{}{}', 400, 'malformed_json'],
    ['of deep nesting', `{"metadata":${'['.repeat(5_000)}${']'.repeat(5_000)}}`, 400, 'invalid_request'],
    ['with a key of a prototype', '{"name":"Lobby","transient":false,"constructor":{}}', 400, 'invalid_request'],
    ['with U+0000', '{"name":"a\\u0000b","transient":false}', 400, 'invalid_request'],
    ['with half a surrogate pair', '{"name":"a\\ud800b","transient":false}', 400, 'invalid_request'],
  ])('%s is refused', async (_, body, status, code) => {
    const answer = await tenant.rest.call('POST', '/api/worlds/', body)
    expect(answer).toMatchObject({ status, body: { code } })
  })

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])(
    'as %s is 415',
    async (type) => {
      const answer = await tenant.rest.call('POST', '/api/worlds/', lobby, { 'content-type': type })
      expect(answer.status).toBe(415)
    },
  )

  test('that is not UTF-8 is refused', async () => {
    expect(await post({}, [Buffer.from('{"name":"a\xff","transient":false}', 'latin1')])).toBe(400)
  })
})

describe('rate limits', () => {
  let limited: ApiProcess
  let own: Tenant
  beforeAll(async () => {
    const settings = {
      ORRERY_LIMIT_REQUESTS_PER_SECOND: '1',
      ORRERY_LIMIT_REQUEST_BURST: '5',
      ORRERY_LIMIT_STARTS_PER_MINUTE: '2',
    }
    limited = await startApi({ databaseUrl: await aDatabase(), settings })
    own = await aTenant(limited.url)
  })
  afterAll(() => limited?.stop())

  test('give a key its burst, then 429 with Retry-After, without affecting other keys', async () => {
    const rest = await own.withKey([`${own.paths.organization}/**:r`])
    const answers = []
    for (let at = 0; at < 8; at += 1) answers.push(await rest.call('GET', '/api/worlds/'))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.slice(0, 5)).toEqual([200, 200, 200, 200, 200])
    const refused = answers.find(({ status }) => status === 429)
    expect(refused).toMatchObject({ body: { code: 'rate_limited' } })
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(Object.fromEntries(answers[0]?.headers ?? [])).toMatchObject({
      'ratelimit-limit': '5',
      'ratelimit-remaining': '4',
      'ratelimit-reset': '1',
      'ratelimit-policy': '5;w=5',
    })
    const other = await own.withKey([`${own.paths.organization}/**:r`])
    expect((await other.call('GET', '/api/worlds/')).status).toBe(200)
    for (let at = 0; at < 20; at += 1) {
      const platform = await own.rest.call('GET', '/api/worlds/')
      expect([platform.status, platform.headers.get('ratelimit-limit')]).toEqual([200, null])
    }
  })

  test('of starts are shared by all callers of the tenant', async () => {
    const id = await own.world()
    const start = async () => {
      const rest = await own.withKey([`${own.paths.organization}/**:w`])
      return (await rest.call('POST', `/api/worlds/${id}/start/`)).status
    }
    expect([await start(), await start(), await start()]).toEqual([200, 200, 429])
    expect((await own.rest.call('POST', `/api/worlds/${id}/start/`)).status).toBe(200)
  })

  test('of a world are not spent by callers without access to it', async () => {
    const id = await own.world()
    const stranger = await aTenant(limited.url)
    for (let at = 0; at < 4; at += 1) {
      const rest = await stranger.withKey([`${stranger.paths.organization}/**:*`])
      expect((await rest.call('POST', `/api/worlds/${id}/start/`)).status).not.toBe(200)
    }
    const rest = await own.withKey([`${own.paths.organization}/**:w`])
    expect((await rest.call('POST', `/api/worlds/${id}/start/`)).status).toBe(200)
  })

  test('apply by address to callers without a credential', async () => {
    const statuses = []
    const anybody = createRest(limited.url, own.scope, 'ignored')
    for (let at = 0; at < 8; at += 1) {
      statuses.push((await anybody.call('GET', '/api/organizations/current/')).status)
    }
    expect(statuses[0]).toBe(200)
    expect(statuses).toContain(429)
  })
})
