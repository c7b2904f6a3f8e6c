import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endpoints } from '#api/endpoints.ts'
import { createIdSource } from '#shared/ids.ts'
import { type ApiProcess, aDatabase, logLines, startApi } from '#test/support/processes.ts'
import { createRest } from '#test/support/rest.ts'
import { eventually } from '#test/support/wait.ts'

let api: ApiProcess
beforeAll(async () => {
  api = await startApi({ databaseUrl: await aDatabase() })
})
afterAll(() => api?.stop())

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
const fixedPaths = [...new Set(endpoints.map(({ path }) => path))].filter((path) => !path.includes('{'))

test('a path with a fixed name serves its own methods, which Allow lists', async () => {
  const rest = createRest(api.url)
  const wrong: unknown[] = []
  for (const path of fixedPaths) {
    const served = endpoints.filter((each) => each.path === path).map(({ method }) => method.toUpperCase())
    for (const method of [...methods, 'OPTIONS'].filter((each) => !served.includes(each))) {
      const { status, headers } = await rest.call(method, path)
      const allow = headers.get('allow')
      if (status !== 405 || allow !== served.sort().join(', ')) wrong.push({ method, path, status, allow })
    }
  }
  expect(wrong).toEqual([])
})

test('counts and logs a request under its route', async () => {
  const rest = createRest(api.url)
  await rest.call('GET', '/api/worlds/public/')
  await rest.call('DELETE', '/api/worlds/public/')
  const metrics = await (await fetch(api.metricsUrl)).text()
  const counted = metrics.split('\n').filter((line) => line.includes('_count{') && line.includes('/api/worlds/'))
  expect(counted.filter((line) => line.includes('route="/api/worlds/public/"'))).not.toEqual([])
  expect(counted.filter((line) => line.includes('route="/api/worlds/:worldId/"'))).toEqual([])
  const routes = await eventually('the lines of both requests', async () => {
    const logged = logLines(api.logFile).map(({ method, route }) => `${method} ${route}`)
    return logged.includes('DELETE /api/worlds/public/') && logged
  })
  expect(routes).toContain('GET /api/worlds/public/')
  expect(routes).not.toContain('/api/worlds/:worldId/')
})

test.each(['/api/', '/api'])('leads from %s to the reference page', async (path) => {
  const answer = await fetch(`${api.url}${path}`, { redirect: 'manual' })
  expect([answer.status, answer.headers.get('location')]).toEqual([302, '/api/docs/'])
})

describe('the OpenAPI document', () => {
  type Parameter = { name: string; required: boolean; schema: { pattern?: string } }
  type Header = { required?: boolean; $ref?: string }
  type Operation = { parameters: Parameter[]; responses: Record<string, { headers?: Record<string, Header> }> }
  type Document = {
    paths: Record<string, Record<string, Operation>>
    components: { headers?: Record<string, Header> }
  }
  const read = async () => (await createRest(api.url).call<Document>('GET', '/api/openapi.json')).body
  const operationsOf = ({ paths }: Document) => Object.values(paths).flatMap((path) => Object.values(path))

  test('describes the form of every id; an optional header may be empty', async () => {
    const newId = createIdSource({ now: Date.now })
    const ids: Record<string, string> = {
      'x-svc-organization-id': newId('organization'),
      'x-svc-project-id': newId('project'),
      'x-svc-world-id': newId('world'),
      organizationId: newId('organization'),
      worldId: newId('world'),
      botDeploymentId: newId('bot'),
      apiKeyId: newId('apiKey'),
    }
    const texts = ['', 'other', ...Object.values(ids)]
    const seen = new Set<string>()
    for (const { name, required, schema } of operationsOf(await read()).flatMap((each) => each.parameters)) {
      const id = ids[name]
      if (id === undefined) continue
      seen.add(name)
      const fits = texts.filter((text) => new RegExp(schema.pattern ?? '').test(text))
      const sameKind = texts.filter((text) => text.slice(0, 4) === id.slice(0, 4))
      expect({ name, fits }).toEqual({ name, fits: required ? sameKind : ['', ...sameKind] })
    }
    expect([...seen].sort()).toEqual(Object.keys(ids).sort())
  })

  test('names the headers of every response with a status', async () => {
    const document = await read()
    const isRequired = ({ required, $ref }: Header): boolean =>
      required ?? document.components.headers?.[$ref?.split('/').at(-1) ?? '']?.required ?? false
    const always: Record<string, string[]> = { 401: ['www-authenticate'], 429: ['retry-after'], 503: ['retry-after'] }
    for (const { responses } of operationsOf(document)) {
      for (const [status, { headers = {} }] of Object.entries(responses)) {
        // The handshake has the headers of RFC 6455 alone.
        if (status === '101') continue
        const required = Object.keys(headers).filter((name) => isRequired(headers[name] ?? {}))
        expect(required).toEqual(expect.arrayContaining(['x-request-id', ...(always[status] ?? [])]))
      }
    }
  })
})
