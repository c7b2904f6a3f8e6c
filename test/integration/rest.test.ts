import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endpoints } from '#api/endpoints.ts'
import { type ApiProcess, aDatabase, logLines, rootApiKey, startApi } from '#test/support/processes.ts'
import { createRest, inNewProject, type WorldBody } from '#test/support/rest.ts'
import { eventually } from '#test/support/wait.ts'

let api: ApiProcess
beforeAll(async () => {
  api = await startApi({ databaseUrl: await aDatabase() })
})
afterAll(() => api?.stop())

type ProblemBody = {
  type: string
  status: number
  code: string
  requestId: string
  detail: string
  errors?: { path: string; message: string }[]
}
const aProject = () => inNewProject(api.url)
const lobby = { name: 'Lobby', transient: false }

describe('a world', () => {
  test('is created with every default and returned with its launch context', async () => {
    const rest = await aProject()
    const made = await rest.call<{ worldId: string; launchContextId: string }>('POST', '/api/worlds/', lobby)
    expect(made.body.worldId).toMatch(/^wld-[0-9a-hjkmnp-tv-z]{26}$/)
    const read = await rest.call<WorldBody>('GET', `/api/worlds/${made.body.worldId}/`)
    expect(read.headers.get('etag')).toMatch(/^"1\.[\w-]{43}"$/)
    expect(read.body).toMatchObject({
      documentId: made.body.worldId,
      ...lobby,
      organizationId: rest.scope.organizationId,
      projectId: rest.scope.projectId,
      metadata: { annotations: {}, labels: {} },
      compute: { group: 'production', region: 'Europe' },
      networking: { strategy: 'Default', scaling: { profile: 'Capacity30', configuration: null } },
      runtime: { mapName: '', capacity: 30, admissionPolicy: 'Open' },
      admission: { policy: 'Open', capacity: 30 },
      sessions: { controlPolicy: 'Unlimited', flags: { ignoreExpiry: false } },
      status: { phase: 'Inactive' },
      launchContext: {
        launchContextId: made.body.launchContextId,
        isActive: true,
        isPublic: false,
        useWorldSessions: true,
        enableQueue: false,
        permissionVerb: '*',
      },
      queueState: { queued: 0, active: 0 },
    })
  })

  test('is listed in its project, oldest first, page by page', async () => {
    const rest = await aProject()
    const ids: string[] = []
    for (const name of ['W1', 'W2', 'W3']) {
      ids.push((await rest.call<{ worldId: string }>('POST', '/api/worlds/', { ...lobby, name })).body.worldId)
    }
    const first = await rest.call<WorldBody[]>('GET', '/api/worlds/?limit=2')
    const next = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? ''
    const second = await rest.call<WorldBody[]>('GET', next)
    expect([...first.body, ...second.body].map(({ documentId }) => documentId)).toEqual(ids)
    expect(second.headers.get('link')).toBeNull()
  })

  test('is changed by PATCH in the given fields only, if If-Match holds', async () => {
    const rest = await aProject()
    const { body } = await rest.call<{ worldId: string }>('POST', '/api/worlds/', { ...lobby, description: 'Old' })
    const path = `/api/worlds/${body.worldId}/`
    const renamed = await rest.call<WorldBody>('PATCH', path, { name: 'Foyer' })
    expect(renamed.body).toMatchObject({ name: 'Foyer', description: 'Old', launchContext: { name: 'Foyer' } })
    const stale = await rest.call<ProblemBody>('PATCH', path, { name: 'Other' }, { 'if-match': '"1.0"' })
    expect(stale.status).toBe(412)
    const current = renamed.headers.get('etag') ?? ''
    expect((await rest.call('PATCH', path, { description: 'New' }, { 'if-match': current })).status).toBe(200)
  })

  test('with an unknown build cannot be started and is not changed', async () => {
    const rest = await aProject()
    const build = { channelId: 'main', tag: 'v1' }
    const { body } = await rest.call<{ worldId: string }>('POST', '/api/worlds/', { ...lobby, runtime: { build } })
    const started = await rest.call<ProblemBody>('POST', `/api/worlds/${body.worldId}/start/`)
    expect(started).toMatchObject({ status: 422, body: { code: 'build_unresolved' } })
    expect((await rest.call<WorldBody>('GET', `/api/worlds/${body.worldId}/`)).body.status.phase).toBe('Inactive')
  })

  test('is absent as soon as it is deleted', async () => {
    const rest = await aProject()
    const { body } = await rest.call<{ worldId: string }>('POST', '/api/worlds/', lobby)
    expect((await rest.call('DELETE', `/api/worlds/${body.worldId}/`)).status).toBe(200)
    expect((await rest.call('GET', `/api/worlds/${body.worldId}/`)).status).toBe(404)
    expect((await rest.call('POST', `/api/worlds/${body.worldId}/start/`)).status).toBe(404)
    expect((await rest.call<WorldBody[]>('GET', '/api/worlds/')).body).toEqual([])
  })

  test('is absent through another project or organization', async () => {
    const [owner, stranger] = await Promise.all([aProject(), aProject()])
    const { body } = await owner.call<{ worldId: string }>('POST', '/api/worlds/', lobby)
    const path = `/api/worlds/${body.worldId}/`
    const comparable = async (answer: { status: number; body: ProblemBody }) => ({
      ...answer.body,
      requestId: '',
      status: answer.status,
    })
    const foreign = await comparable(await stranger.call<ProblemBody>('GET', path))
    const absent = await comparable(
      await stranger.call<ProblemBody>('GET', '/api/worlds/wld-00000000000000000000000000/'),
    )
    expect(foreign).toEqual(absent)
    expect(foreign.status).toBe(404)
    for (const verb of ['start', 'stop']) expect((await stranger.call('POST', `${path}${verb}/`)).status).toBe(404)
    expect((await stranger.call('PATCH', path, { name: 'Mine' })).status).toBe(404)
    expect((await stranger.call('DELETE', path)).status).toBe(404)
    expect((await owner.call<WorldBody>('GET', path)).body.name).toBe('Lobby')
  })

  test('is read only in its own scope, also when reads of several organizations arrive at once', async () => {
    const [own, foreign] = [await aProject(), await aProject()]
    const create = async (rest: typeof own) =>
      (await rest.call<{ worldId: string }>('POST', '/api/worlds/', lobby)).body.worldId
    const ids = [await create(own), await create(own), await create(foreign)]
    const reads = Array.from({ length: 10 }, () =>
      [own, foreign].flatMap((rest) => ids.map((id) => ({ rest, id }))),
    ).flat()
    const answers = await Promise.all(
      reads.map(async ({ rest, id }) => {
        const { status, body } = await rest.call<WorldBody>('GET', `/api/worlds/${id}/`)
        return status === 200 ? `${body.organizationId} ${body.documentId}` : status
      }),
    )
    const expected = reads.map(({ rest, id }) => {
      const isOwn = (rest === own) === (id !== ids[2])
      return isOwn ? `${rest.scope.organizationId} ${id}` : 404
    })
    expect(answers).toEqual(expected)
  })

  test('is read as it was written, while other reads are in progress', async () => {
    const rest = await aProject()
    const { worldId } = (await rest.call<{ worldId: string }>('POST', '/api/worlds/', lobby)).body
    const read = async () => (await rest.call<WorldBody>('GET', `/api/worlds/${worldId}/`)).body.description
    for (let at = 0; at < 20; at += 1) {
      const others = Array.from({ length: 8 }, read)
      await rest.call('PATCH', `/api/worlds/${worldId}/`, { description: `change ${at}` })
      expect(await read()).toBe(`change ${at}`)
      await Promise.all(others)
    }
  })
})

describe('bad input', () => {
  test('lists all errors with their paths, including unknown fields', async () => {
    const rest = await aProject()
    const answer = await rest.call<ProblemBody>('POST', '/api/worlds/', {
      name: 'x',
      colour: 'red',
      networking: { scaling: { profile: 'Huge' }, speed: 9 },
      runtime: { capacity: 'many' },
    })
    expect(answer.status).toBe(400)
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    expect(answer.body).toMatchObject({ type: '/problems/invalid_request', code: 'invalid_request', status: 400 })
    expect(answer.body.errors?.map(({ path }) => path).sort()).toEqual([
      '/colour',
      '/name',
      '/networking/scaling/profile',
      '/networking/speed',
      '/runtime/capacity',
      '/transient',
    ])
  })

  test.each([
    ['malformed JSON', '{"name":', 400, 'malformed_json'],
    ['a wrong type', '[]', 400, 'invalid_request'],
    ['a capacity above that of the profile', { ...lobby, admission: { capacity: 31 } }, 403, 'size_not_allowed'],
    ['a name of one character', { ...lobby, name: 'x' }, 400, 'invalid_request'],
    ['a name of 65 code points', { ...lobby, name: '🌍'.repeat(65) }, 400, 'invalid_request'],
    [
      'a key that would reach a prototype',
      '{"name":"AB","transient":true,"metadata":{"labels":{"__proto__":"x"}}}',
      400,
      'invalid_request',
    ],
    ['a body over 1 MiB', { ...lobby, description: 'x'.repeat(1024 * 1024) }, 413, 'body_too_large'],
  ])('%s is refused', async (_, body, status, code) => {
    const rest = await aProject()
    expect(await rest.call('POST', '/api/worlds/', body)).toMatchObject({ status, body: { code } })
  })

  test('accepts a name of 64 code points of any size in bytes', async () => {
    const rest = await aProject()
    expect((await rest.call('POST', '/api/worlds/', { ...lobby, name: '🌍'.repeat(64) })).status).toBe(200)
  })

  test('rejects a chunked body over 1 MiB, and a body that is not JSON by its type', async () => {
    const rest = await aProject()
    const headers = {
      'x-api-key': rootApiKey,
      'x-svc-organization-id': rest.scope.organizationId ?? '',
      'x-svc-project-id': rest.scope.projectId ?? '',
    }
    const chunks = new ReadableStream({
      start: (controller) => {
        for (let sent = 0; sent < 20; sent += 1) controller.enqueue(Buffer.alloc(64 * 1024, ' '))
        controller.close()
      },
    })
    const chunked = await fetch(`${api.url}/api/worlds/`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: chunks,
      duplex: 'half',
    } as RequestInit)
    expect(chunked.status).toBe(413)
    const text = await fetch(`${api.url}/api/worlds/`, { method: 'POST', headers, body: 'name=Lobby' })
    expect(text.status).toBe(415)
  })
})

describe('the order of the checks', () => {
  test('checks route, method, credential, headers, scope and body in this order', async () => {
    const nobody = createRest(api.url, {}, 'not-a-key')
    const root = createRest(api.url)
    const lost = createRest(api.url, {
      organizationId: 'org-00000000000000000000000000',
      projectId: 'prj-00000000000000000000000000',
    })
    expect((await nobody.call('GET', '/api/nothing/')).status).toBe(404)
    const method = await nobody.call('PUT', '/api/worlds/')
    expect(method.status).toBe(405)
    expect(method.headers.get('allow')).toBe('GET, POST')
    expect((await nobody.call('POST', '/api/worlds/', '{')).status).toBe(401)
    const headers = await root.call<ProblemBody>('POST', '/api/worlds/', '{')
    expect(headers.body.errors?.map(({ path }) => path)).toEqual(['x-svc-organization-id', 'x-svc-project-id'])
    expect((await lost.call('POST', '/api/worlds/', '{')).status).toBe(404)
    expect((await (await aProject()).call('POST', '/api/worlds/', '{')).status).toBe(400)
  })

  test('returns 404 for a missing scope on every route with a scope', async () => {
    const lost = createRest(api.url, {
      organizationId: 'org-00000000000000000000000000',
      projectId: 'prj-00000000000000000000000000',
    })
    expect((await lost.call('GET', '/api/worlds/')).status).toBe(404)
    expect((await lost.call('POST', '/api/organizations/projects/', { name: 'P' })).status).toBe(404)
  })
})

test('filters deployments by status, repeated or with commas, and rejects an unknown one', async () => {
  const rest = await aProject()
  const { body } = await rest.call<{ worldId: string }>('POST', '/api/worlds/', lobby)
  const path = `/api/worlds/${body.worldId}/deployments/`
  for (const query of ['', '?status=Running', '?status=Running,Stopped', '?status=Running&status=Error']) {
    expect(await rest.call('GET', `${path}${query}`)).toMatchObject({ status: 200, body: [] })
  }
  expect(await rest.call('GET', `${path}?status=Walking`)).toMatchObject({
    status: 400,
    body: { code: 'invalid_request' },
  })
})

test('paths are served with and without a trailing slash', async () => {
  const root = createRest(api.url)
  const [bare, slashed] = await Promise.all([
    root.call<unknown[]>('GET', '/api/worlds/scalingProfiles'),
    root.call<unknown[]>('GET', '/api/worlds/scalingProfiles/'),
  ])
  expect(bare.body).toEqual(slashed.body)
  expect(bare.body).toHaveLength(12)
  expect(bare.body).toContainEqual({
    name: 'Capacity30',
    estimatedCapacity: 30,
    maxBotsPerWorld: 30,
    resourceConfiguration: { server: { memoryLimit: '4Gi' } },
  })
})

test('logs a valid request id with the route, and never logs a key', async () => {
  const rest = await aProject()
  const answer = await rest.call('GET', '/api/worlds/', undefined, { 'x-request-id': 'my-request.1' })
  expect(answer.headers.get('x-request-id')).toBe('my-request.1')
  const unsafe = await rest.call('GET', '/api/worlds/', undefined, { 'x-request-id': 'a b' })
  expect(unsafe.headers.get('x-request-id')).not.toBe('a b')
  const line = await eventually('the line of the request', async () =>
    logLines(api.logFile).find(({ requestId }) => requestId === 'my-request.1'),
  )
  expect(line).toMatchObject({
    method: 'GET',
    route: '/api/worlds/',
    status: 200,
    principal: 'platform',
    organizationId: rest.scope.organizationId,
    durationMs: expect.any(Number),
  })
  expect(JSON.stringify(logLines(api.logFile))).not.toContain(rootApiKey)
})

test('serves /livez and /readyz on the API port, and /metrics on its own port', async () => {
  expect((await fetch(`${api.url}/livez`)).status).toBe(200)
  expect((await fetch(`${api.url}/readyz`)).status).toBe(200)
  expect((await fetch(`${api.url}/metrics`)).status).toBe(404)
  const metrics = await (await fetch(api.metricsUrl)).text()
  expect(metrics).toContain('http_request_duration_seconds_count{method="POST",route="/api/worlds/",status="200"}')
  expect(metrics).not.toMatch(/route="[^"]*wld-/)
})

test('the OpenAPI document describes every route, without a credential', async () => {
  const document = (await (await fetch(`${api.url}/api/openapi.json`)).json()) as {
    openapi: string
    paths: Record<string, object>
  }
  expect(document.openapi).toBe('3.1.0')
  const table = [...endpoints.map(({ path, method }) => `${method} ${path}`), 'get /api/realtime/connect/']
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  )
  expect(described.sort()).toEqual(table.sort())
})

test('the API serves the reference page and its files without a credential', async () => {
  const page = await (await fetch(`${api.url}/api/docs/`)).text()
  const loaded = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path)
  expect(loaded).toHaveLength(3)
  for (const path of loaded) {
    const answer = await fetch(new URL(path, api.url))
    expect({ path, status: answer.status, type: answer.headers.get('content-type') }).toEqual({
      path,
      status: 200,
      type: expect.stringMatching(path.endsWith('.css') ? /^text\/css/ : /^text\/javascript/),
    })
  }
  const start = loaded.find((path) => path.endsWith('start.js')) ?? ''
  // The page remembers the credential that a reader entered.
  expect(await (await fetch(new URL(start, api.url))).text()).toContain('persistAuthorization: true')
  expect((await fetch(`${api.url}/api/docs/absent.js`)).status).toBe(404)
})
