import { z } from 'zod'
import { organizationHeader, projectHeader, worldHeader } from '#api/domain/access/scope.ts'
import { multipartOverheadBytes } from '#api/platform/http/body.ts'
import { exampleId } from '#api/platform/http/examples.ts'
import { pictureTypes } from '#api/platform/http/upload.ts'
import { type IdKind, idPattern } from '#shared/ids.ts'
import { productVersion } from '#shared/version.ts'
import type { Endpoint, Scope } from './endpoint.ts'
import { idParams } from './serve.ts'

type Json = { [key: string]: unknown }

const problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.number(),
    detail: z.string(),
    code: z.string(),
    requestId: z.string(),
    errors: z.array(z.object({ path: z.string(), message: z.string() })).exactOptional(),
  })
  .meta({
    id: 'Problem',
    description: 'A fault (RFC 9457); `code` is for programs, `errors` names every faulty part.',
    examples: [
      {
        type: '/problems/invalid_request',
        title: 'The request is invalid',
        status: 400,
        detail: 'One thing is not as the API reference says; see errors.',
        code: 'invalid_request',
        requestId: 'a1f6c7de-6b1c-4f0e-9d0b-0d7b2f4f3c55',
        errors: [{ path: '/name', message: 'Invalid input: expected string, received undefined' }],
      },
    ],
  })

const descriptions: Record<number, string> = {
  400: 'The request is malformed or invalid; every fault is listed.',
  401: 'No valid credential.',
  403: 'The credential does not permit this.',
  404: 'It does not exist, or is out of reach of the credential and the headers.',
  409: 'The present state does not allow this.',
  412: 'If-Match does not hold.',
  413: 'The body is too large.',
  415: 'The body has a type that is not served.',
  422: 'The build cannot be resolved.',
  426: 'This path speaks WebSocket.',
  429: 'Too many requests; try again after Retry-After seconds.',
  500: 'An unexpected fault, with a request id that finds it in the log.',
  503: 'The database is out; try again after Retry-After seconds.',
}

const answerHeader = (description: string) => ({ description, required: true, schema: { type: 'string' } })
/** Headers that answers always bear, by their name here. */
const namedHeaders = {
  RequestId: answerHeader(
    'What finds the request in the log: X-Request-Id of the request if that is safe, or a new one.',
  ),
  Challenge: answerHeader('Which kind of credential is missing (RFC 9110, 11.6.1).'),
  RetryAfter: answerHeader('In how many seconds to try again.'),
}
const named = (name: keyof typeof namedHeaders): Json => ({ $ref: `#/components/headers/${name}` })
const headersOf = (status: number): Json => ({
  'x-request-id': named('RequestId'),
  ...(status === 401 ? { 'www-authenticate': named('Challenge') } : {}),
  ...(status === 429 || status === 503 ? { 'retry-after': named('RetryAfter') } : {}),
})

/** The OpenAPI 3.1 document of a table of endpoints; its schemas are those that validate. */
export const openApiDocument = (endpoints: readonly Endpoint[]): Json => {
  const components: Json = {}
  const paths: Record<string, Json> = {}
  for (const endpoint of endpoints) {
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method]: operation(endpoint, components) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Orrery',
      version: productVersion,
      description: 'Hosts virtual worlds on Kubernetes for many tenants.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    tags: [...new Set(endpoints.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: Object.fromEntries(Object.entries(components).sort(([a], [b]) => (a < b ? -1 : 1))),
      headers: namedHeaders,
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
        token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      },
    },
  }
}

const security: Record<NonNullable<Endpoint['credential']>, Json[]> = {
  none: [],
  key: [{ apiKey: [] }],
  token: [{ token: [] }],
  keyOrToken: [{ apiKey: [] }, { token: [] }],
}

const operation = (endpoint: Endpoint, components: Json): Json => ({
  operationId: endpoint.operationId,
  summary: endpoint.summary,
  tags: [endpoint.tag],
  security: security[endpoint.credential ?? 'key'],
  parameters: [...pathParameters(endpoint, components), ...queryParameters(endpoint, components), ...headers(endpoint)],
  ...requestBody(endpoint, components),
  responses: {
    [endpoint.status ?? 200]: success(endpoint, components),
    ...Object.fromEntries(statusesOf(endpoint).map((status) => [status, failure(status, components)])),
  },
})

const success = (endpoint: Endpoint, components: Json): Json => ({
  description: endpoint.answerDescription ?? 'Done.',
  headers: {
    ...headersOf(endpoint.status ?? 200),
    // A Link leads to the next page, and the last page has none.
    ...Object.fromEntries(
      (endpoint.answerHeaders ?? []).map((name) => [name, { required: name !== 'link', schema: { type: 'string' } }]),
    ),
  },
  ...(endpoint.answer === undefined
    ? {}
    : { content: { 'application/json': { schema: schemaOf(endpoint.answer, 'output', components) } } }),
})

const failure = (status: number, components: Json): Json => ({
  description: descriptions[status] ?? '',
  headers: headersOf(status),
  content: { 'application/problem+json': { schema: schemaOf(problem, 'output', components) } },
})

/** The problems that follow from an entry of the table. */
const statusesOf = (endpoint: Endpoint): number[] => {
  const { scope = 'none', credential = 'key', needs, body, upload, query, params, ifMatch, idempotent } = endpoint
  const scoped = scope !== 'none' && scope !== 'optional'
  const input = scoped || body || upload || query || params || idempotent
  const found = [
    ...[429, 500, 503],
    ...(credential === 'none' ? [] : [401]),
    ...(input ? [400] : []),
    ...(scope === 'none' && !endpoint.path.includes('{') ? [] : [404]),
    ...(needs && needs[1] !== 'r' ? [403] : []),
    ...(body || upload ? [413, 415] : []),
    ...(ifMatch ? [412] : []),
    ...(idempotent ? [409] : []),
    ...(endpoint.problems ?? []),
  ]
  return [...new Set(found)].sort((a, b) => a - b)
}

const requestBody = (endpoint: Endpoint, components: Json): Json => {
  if (endpoint.upload) {
    const raw = Object.fromEntries(pictureTypes.map((type) => [type, { schema: {} }]))
    const form = {
      type: 'object',
      required: ['file'],
      properties: { file: { type: 'string', contentMediaType: 'application/octet-stream' } },
      description: `One file of at most 10 MiB, with at most ${multipartOverheadBytes} bytes around it.`,
    }
    return { requestBody: { required: true, content: { ...raw, 'multipart/form-data': { schema: form } } } }
  }
  if (endpoint.body === undefined) return {}
  const schema = schemaOf(endpoint.body, 'input', components)
  return { requestBody: { required: true, content: { 'application/json': { schema } } } }
}

const idSchema = (kind: IdKind): Json => ({ pattern: idPattern(kind), examples: [exampleId(kind)] })

const pathParameters = (endpoint: Endpoint, components: Json): Json[] =>
  [...endpoint.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const known = endpoint.params?.shape[name] as z.ZodType | undefined
    const kind = idParams[name]
    const text = { type: 'string', ...(kind === undefined ? {} : idSchema(kind)) }
    return {
      name,
      in: 'path',
      required: true,
      schema: known === undefined ? text : schemaOf(known, 'input', components),
    }
  })

const queryParameters = ({ query }: Endpoint, components: Json): Json[] =>
  Object.entries(query?.shape ?? {}).map(([name, schema]) => {
    const { description, ...rest } = schemaOf(schema as z.ZodType, 'input', components)
    // What is parsed further loses its examples: for zod they are of what comes out.
    const { examples } = z.globalRegistry.get(schema as z.ZodType) ?? {}
    return { name, in: 'query', required: false, description, schema: { ...rest, ...(examples ? { examples } : {}) } }
  })

const scopeHeaders: Record<Scope, [string, boolean][]> = {
  none: [],
  optional: [
    [organizationHeader, false],
    [projectHeader, false],
  ],
  organization: [[organizationHeader, true]],
  'organization?project': [
    [organizationHeader, true],
    [projectHeader, false],
  ],
  'organization?project?world': [
    [organizationHeader, true],
    [projectHeader, false],
    [worldHeader, false],
  ],
  project: [
    [organizationHeader, true],
    [projectHeader, true],
  ],
}

const scopeKinds: Record<string, IdKind> = {
  [organizationHeader]: 'organization',
  [projectHeader]: 'project',
  [worldHeader]: 'world',
}
/** A header that may be missing may be empty as well. */
const scopePattern = (name: string, required: boolean): Json => {
  const kind = scopeKinds[name]
  if (kind === undefined) return {}
  return { ...idSchema(kind), ...(required ? {} : { pattern: `^$|${idPattern(kind)}` }) }
}

const headers = ({ scope = 'none', ifMatch, idempotent }: Endpoint): Json[] => {
  const header = (name: string, required: boolean, schema: Json = {}) => ({
    name,
    in: 'header',
    required,
    schema: { type: 'string', ...schema },
  })
  return [
    ...scopeHeaders[scope].map(([name, required]) => header(name, required, scopePattern(name, required))),
    ...(ifMatch ? [header('if-match', false, { examples: ['"3.7"'] })] : []),
    ...(idempotent
      ? [header('idempotency-key', false, { pattern: '^[\\x21-\\x7e]{1,255}$', examples: ['order-1042'] })]
      : []),
  ]
}

/** The JSON Schema of a zod schema; what has an id goes to the components and is referred to. */
const schemaOf = (schema: z.ZodType, io: 'input' | 'output', components: Json): Json => {
  const { $defs = {}, properties } = z.toJSONSchema(z.object({ root: schema }), {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      // A description of its own type stands for a text that is parsed further, whose pattern would say the wrong thing.
      if (jsonSchema.type === 'integer' && 'pattern' in jsonSchema) delete jsonSchema.pattern
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern
    },
  })
  for (const [id, definition] of Object.entries($defs)) {
    const { id: _, ...rest } = definition
    components[id] = pointed(rest)
  }
  return pointed(properties?.root) as Json
}

const pointed = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(pointed)
  if (typeof node !== 'object' || node === null) return node
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) =>
      key === '$ref' ? [key, String(value).replace('#/$defs/', '#/components/schemas/')] : [key, pointed(value)],
    ),
  )
}
