import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Endpoint } from '#api/domain/endpoint/endpoint.ts'
import { endpoints } from '#api/endpoints.ts'
import { exampleId } from '#api/platform/http/examples.ts'
import type { IdKind } from '#shared/ids.ts'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiDocument, createValidation, readDocument } from '#test/support/documented.ts'
import {
  type ApiProcess,
  aDatabase,
  apiSecrets,
  rootApiKey,
  runOrrery,
  startApi,
  startOperator,
} from '#test/support/processes.ts'
import { send } from '#test/support/rest.ts'
import { eventually } from '#test/support/wait.ts'

type Json = Record<string, unknown>
type Schema = { $ref?: string; items?: Schema; examples?: unknown[]; pattern?: string }
type Content = Record<string, { schema: Schema }>
type Parameter = { name: string; in: string; schema: Schema }
type Operation = {
  operationId: string
  parameters: Parameter[]
  requestBody?: { content: Content }
  responses: Record<string, { content?: Content }>
}

let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>
let document: ApiDocument
/** Deliveries to webhooks fail at once. */
const settings = { ORRERY_WEBHOOK_DNS_SERVERS: '127.0.0.1:9' }
const cluster = aCluster()
beforeAll(async () => {
  // Resources of earlier files would be findings of the API, which the example of no finding does not show.
  await cluster.removeLeftovers()
  const databaseUrl = await aDatabase()
  ;[api, operator] = [await startApi({ databaseUrl, settings }), await startOperator()]
  // Leaves an audit record of the platform.
  const rotated = runOrrery(['rotate-keys', '--signing-key'], { ...apiSecrets(), ORRERY_DATABASE_URL: databaseUrl })
  expect(rotated.status).toBe(0)
  document = await readDocument(api.url)
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop(), cluster.close()])
})

const operationOf = ({ method, path }: Endpoint): Operation => document.paths[path]?.[method] as unknown as Operation

/** Returns the examples of a schema, or of the component or items that it refers to. */
const examplesOf = (schema: Schema): unknown[] => {
  const component = schema.$ref?.split('/').at(-1)
  if (component !== undefined)
    return examplesOf((document.components.schemas as Record<string, Schema>)[component] ?? {})
  if (schema.examples !== undefined) return schema.examples
  return schema.items === undefined ? [] : examplesOf(schema.items)
}

const bodyOf = (endpoint: Endpoint): Schema | undefined =>
  operationOf(endpoint).requestBody?.content['application/json']?.schema
const answerOf = (endpoint: Endpoint): Schema | undefined =>
  operationOf(endpoint).responses[endpoint.status ?? 200]?.content?.['application/json']?.schema

test('every body, and every parameter that has a pattern, has an example', () => {
  const without: string[] = []
  for (const endpoint of endpoints) {
    const { operationId, parameters } = operationOf(endpoint)
    const bodies = [bodyOf(endpoint), answerOf(endpoint), ...parameters.map(({ schema }) => schema)]
    const wanted = bodies.filter((each, at) => each !== undefined && (at < 2 || each.pattern !== undefined))
    if (wanted.some((each) => each === undefined || examplesOf(each).length === 0)) without.push(operationId)
  }
  const components = Object.entries(document.components.schemas as Record<string, Schema>)
  without.push(...components.flatMap(([name, schema]) => (examplesOf(schema).length === 0 ? [name] : [])))
  expect(without).toEqual([])
})

test('every example in the document fits the schema beside it', () => {
  const faultOf = createValidation(document)
  let checked = 0
  const faults: unknown[] = []
  const walk = (node: unknown, steps: readonly string[]): void => {
    if (typeof node !== 'object' || node === null) return
    const examples = 'examples' in node && Array.isArray(node.examples) ? node.examples : []
    for (const example of examples) {
      checked += 1
      const fault = faultOf(steps, example)
      if (fault !== undefined) faults.push({ at: steps.join('/'), example, fault })
    }
    for (const [key, inner] of Object.entries(node)) if (key !== 'examples') walk(inner, [...steps, key])
  }
  walk(document, [])
  expect(faults).toEqual([])
  expect(checked).toBeGreaterThan(100)
})

/** The operations that run first and create the objects of the examples. */
const begins = [
  ...['createOrganization', 'putOrganizationPicture', 'createProject', 'createApiKey', 'putBuild', 'createWorld'],
  ...['startWorld', 'createBotDeployment', 'putWorldPicture', 'patchWorld', 'putKvStore', 'putCollection'],
  ...['putLiveConfig', 'createToken', 'createWebhook', 'testWebhook'],
]
const ends = [
  ...[
    'explainWorld',
    'stopWorld',
    'deleteBotDeployment',
    'deleteBuild',
    'deleteKvStore',
    'deleteCollection',
    'deleteLiveConfig',
  ],
  ...['deleteWorld', 'listDeletedWorlds', 'restoreWorld', 'purgeWorld', 'deleteApiKey', 'deleteWebhook'],
  ...['deleteProject', 'restoreProject', 'purgeProject'],
  ...['deleteOrganization', 'restoreOrganization', 'purgeOrganization'],
]
/** Logs and metrics come from a node, and a sign-in needs an issuer. Other tests have them. */
const canBeSent = ({ operationId, tag }: Endpoint): boolean =>
  tag !== 'Sign-in' && !['readWorldLog', 'readBotLog', 'readWorldMetrics'].includes(operationId)
const rank = ({ operationId }: Endpoint): number => {
  const [first, last] = [begins.indexOf(operationId), ends.indexOf(operationId)]
  return first >= 0 ? first - begins.length : last + 1
}

const png = new Uint8Array(
  await sharp({ create: { width: 4, height: 4, channels: 3, background: 'red' } })
    .png()
    .toBuffer(),
)

/** Returns the names of all fields of a value at any depth. Of a list, only the first element counts. */
const fieldsOf = (value: unknown, at = ''): string[] => {
  if (Array.isArray(value)) return value.length === 0 ? [`${at}[]`] : fieldsOf(value[0], `${at}[]`)
  if (typeof value !== 'object' || value === null) return [at]
  const inner = Object.entries(value)
  return inner.length === 0 ? [`${at}{}`] : inner.flatMap(([name, each]) => fieldsOf(each, `${at}/${name}`)).sort()
}
const haveSameFields = (a: unknown, b: unknown): boolean => fieldsOf(a).join() === fieldsOf(b).join()

/** Sends examples, with their ids replaced by those of existing objects. */
const createExampleClient = () => {
  const ids: Partial<Record<IdKind, string>> = {}
  let token = ''
  let apiKey = ''
  const real = (text: string): string =>
    Object.entries(ids).reduce((left, [kind, id]) => left.replaceAll(exampleId(kind as IdKind), id), text)
  const parameters = (endpoint: Endpoint, where: string): [string, string][] =>
    operationOf(endpoint).parameters.flatMap(({ name, in: at, schema }) =>
      at === where ? [[name, real(String(examplesOf(schema)[0] ?? ''))]] : [],
    )
  const contentOf = (endpoint: Endpoint, body: unknown) => {
    if (endpoint.upload) return { type: { 'content-type': 'image/png' }, content: { body: png } }
    if (body === undefined) return { type: {}, content: {} }
    return { type: { 'content-type': 'application/json' }, content: { body: real(JSON.stringify(body)) } }
  }
  const ask = (endpoint: Endpoint, body?: unknown, query = '') => {
    const { type, content } = contentOf(endpoint, body)
    const path = parameters(endpoint, 'path').reduce((at, [name, id]) => at.replace(`{${name}}`, id), endpoint.path)
    const scope = parameters(endpoint, 'header').filter(([name]) => name.startsWith('x-svc-'))
    const credential =
      endpoint.credential === 'token'
        ? { authorization: `Bearer ${token}` }
        : { 'x-api-key': endpoint.operationId === 'getCurrentCredential' ? apiKey : rootApiKey }
    const headers = { ...credential, ...Object.fromEntries(scope), ...type }
    return send(api.url, { method: endpoint.method.toUpperCase(), path: `${path}${query}`, headers, ...content })
  }
  const endpointOf = (operationId: string): Endpoint => {
    const endpoint = endpoints.find((each) => each.operationId === operationId)
    if (endpoint === undefined) throw new Error(`no operation ${operationId}`)
    return endpoint
  }
  const read = async (operationId: string): Promise<string> => (await ask(endpointOf(operationId))).text
  const repeat = async (operationId: string): Promise<void> => void (await ask(endpointOf(operationId)))
  /** Records the ids in the responses of operations that create something, and prepares the next operation. */
  const followUps: Record<string, (answer: Json, location: string) => unknown> = {
    createOrganization: ({ organizationId }) => Object.assign(ids, { organization: organizationId }),
    createProject: ({ projectId }) => Object.assign(ids, { project: projectId }),
    createWorld: ({ worldId }) => Object.assign(ids, { world: worldId }),
    createApiKey: async () => {
      // A key of its own, since the examples of keys show one that was not used.
      const [body] = examplesOf(bodyOf(endpointOf('createApiKey')) ?? {})
      apiKey = String((JSON.parse((await ask(endpointOf('createApiKey'), body)).text) as Json).apiKey)
      const [made] = JSON.parse(await read('listApiKeys')) as Json[]
      Object.assign(ids, { apiKey: made?.documentId })
    },
    createWebhook: ({ documentId }) => Object.assign(ids, { webhook: documentId }),
    testWebhook: async ({ id }) => {
      Object.assign(ids, { delivery: id })
      await eventually('an attempt failed', async () => (await read('listWebhookDeliveries')).includes('"failure"'))
    },
    deleteWorld: () =>
      eventually('the world can be restored', async () =>
        (await read('listDeletedWorlds')).includes('"isRestorable":true'),
      ),
    restoreWorld: () => repeat('deleteWorld'),
    restoreProject: () => repeat('deleteProject'),
    restoreOrganization: () => repeat('deleteOrganization'),
    createToken: ({ accessToken }) => {
      token = String(accessToken)
    },
    createBotDeployment: async (_, location) => {
      ids.bot = location.split('/').at(-2) ?? ''
      const pod = cluster.pod(`orrery-${ids.organization}`, ids.world ?? '')
      await pod.exists()
      await pod.becomesReady()
      await eventually(
        'the world and its bots run',
        async () =>
          (await read('getBotDeployment')).includes('"startedAt"') && (await read('getWorld')).includes('"address"'),
      )
    },
  }
  /** Brings about what the example of an operation shows. */
  const preparations: Record<string, () => Promise<unknown>> = {
    explainWorld: async () => {
      await cluster.pod(`orrery-${ids.organization}`, ids.world ?? '').runsOutOfMemory()
      await eventually('the exit code', async () => (await read('explainWorld')).includes('"exitCode"'))
    },
  }
  /** Returns a request for each example of a body, and one for the examples of the query. */
  const requestsOf = (endpoint: Endpoint): [body: unknown, query: string][] => {
    const body = bodyOf(endpoint)
    const bodies = body === undefined ? [undefined] : examplesOf(body)
    const query = parameters(endpoint, 'query').map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    return [
      ...bodies.map((each) => [each, ''] as [unknown, string]),
      ...(query.length === 0 ? [] : [[undefined, `?${query.join('&')}`] as [unknown, string]]),
    ]
  }
  return { ask, preparations, followUps, requestsOf }
}

test('every example of a request is answered with success, and every answer has the fields of its example', async () => {
  const { ask, preparations, followUps, requestsOf } = createExampleClient()
  const wrong: unknown[] = []
  const unmatched = new Set(endpoints.filter(canBeSent).flatMap((endpoint) => examplesOf(answerOf(endpoint) ?? {})))
  const compare = (endpoint: Endpoint, answer: unknown): void => {
    const examples = examplesOf(answerOf(endpoint) ?? {})
    const shown = Array.isArray(answer) ? answer[0] : answer
    const same = examples.filter((each) => haveSameFields(each, shown))
    for (const each of same) unmatched.delete(each)
    if (same.length > 0) return
    wrong.push({
      operationId: endpoint.operationId,
      answered: fieldsOf(shown),
      documented: examples.map((each) => fieldsOf(each)),
    })
  }
  for (const endpoint of endpoints.filter(canBeSent).sort((a, b) => rank(a) - rank(b))) {
    const { operationId, status: success = 200 } = endpoint
    await preparations[operationId]?.()
    for (const [sent, asked] of requestsOf(endpoint)) {
      const { status, headers, text } = await ask(endpoint, sent, asked)
      if (status !== success) wrong.push({ operationId, sent, asked, status, text })
      if (status !== success || asked !== '') continue
      const answer = text === '' ? {} : (JSON.parse(text) as Json)
      await followUps[operationId]?.(answer, headers.get('location') ?? '')
      if (endpoint.answer !== undefined) compare(endpoint, answer)
    }
  }
  expect(wrong).toEqual([])
  expect([...unmatched]).toEqual([])
})

test('an error response has the fields of the problem example', async () => {
  const { text } = await send(api.url, {
    method: 'POST',
    path: '/api/organizations/',
    body: '{}',
    headers: { 'x-api-key': rootApiKey, 'content-type': 'application/json' },
  })
  const [example] = (document.components.schemas as Record<string, Schema>).Problem?.examples ?? []
  expect(fieldsOf(JSON.parse(text))).toEqual(fieldsOf(example))
})
