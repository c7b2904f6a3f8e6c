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
    description: 'An error (RFC 9457). `code` is stable and meant for programs; `errors` lists the validation errors.',
    examples: [
      {
        type: '/problems/invalid_request',
        title: 'Invalid request',
        status: 400,
        detail: 'The request has 1 validation error.',
        code: 'invalid_request',
        requestId: 'a1f6c7de-6b1c-4f0e-9d0b-0d7b2f4f3c55',
        errors: [{ path: '/name', message: 'Invalid input: expected string, received undefined' }],
      },
    ],
  })

const descriptions: Record<number, string> = {
  400: 'The request is malformed or invalid. `errors` lists the validation errors.',
  401: 'The credential is missing or invalid.',
  403: 'The credential has no permission for the request.',
  404: 'The resource does not exist, or the credential or the scope headers give no access to it.',
  409: 'The request conflicts with the current state.',
  412: 'The entity tag in If-Match is not current.',
  413: 'The body is too large.',
  415: 'The content type is not supported.',
  422: 'The build cannot be resolved.',
  426: 'The path accepts WebSocket connections only.',
  429: 'Too many requests. Retry after Retry-After seconds.',
  500: 'An unexpected error. The log has an entry with the request id.',
  503: 'A dependency, such as the database, is unavailable. Retry after Retry-After seconds.',
}

const answerHeader = (description: string) => ({ description, required: true, schema: { type: 'string' } })

/** The headers of every response with the given status, by component name. */
const namedHeaders = {
  RequestId: answerHeader('The id of the request in the log: its X-Request-Id if valid, otherwise a new id.'),
  Challenge: answerHeader('The kind of credential that is needed (RFC 9110, section 11.6.1).'),
  RetryAfter: answerHeader('The number of seconds to wait before a retry.'),
}
const headerRef = (name: keyof typeof namedHeaders): Json => ({ $ref: `#/components/headers/${name}` })
const headersOf = (status: number): Json => ({
  'x-request-id': headerRef('RequestId'),
  ...(status === 401 ? { 'www-authenticate': headerRef('Challenge') } : {}),
  ...(status === 429 || status === 503 ? { 'retry-after': headerRef('RetryAfter') } : {}),
})

/** Returns the OpenAPI 3.1 document of endpoints. Its schemas are generated from those that validate requests. */
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
  description: endpoint.answerDescription ?? 'The request succeeded.',
  headers: {
    ...headersOf(endpoint.status ?? 200),
    // The last page has no Link header.
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

/** Returns the error statuses that an endpoint may answer with. */
const statusesOf = (endpoint: Endpoint): number[] => {
  const { scope = 'none', credential = 'key', needs, body, upload, query, params, ifMatch, idempotent } = endpoint
  const needsScope = scope !== 'none' && scope !== 'optional'
  const hasInput = needsScope || body || upload || query || params || idempotent
  const statuses = [
    ...[429, 500, 503],
    ...(credential === 'none' ? [] : [401]),
    ...(hasInput ? [400] : []),
    ...(scope === 'none' && !endpoint.path.includes('{') ? [] : [404]),
    ...(needs && needs[1] !== 'r' ? [403] : []),
    ...(body || upload ? [413, 415] : []),
    ...(ifMatch ? [412] : []),
    ...(idempotent ? [409] : []),
    ...(endpoint.problems ?? []),
  ]
  return [...new Set(statuses)].sort((a, b) => a - b)
}

const requestBody = (endpoint: Endpoint, components: Json): Json => {
  if (endpoint.upload) {
    const raw = Object.fromEntries(pictureTypes.map((type) => [type, { schema: {} }]))
    const form = {
      type: 'object',
      required: ['file'],
      properties: { file: { type: 'string', contentMediaType: 'application/octet-stream' } },
      description: `One file of at most 10 MiB. The form may add ${multipartOverheadBytes} bytes.`,
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
    const declared = endpoint.params?.shape[name] as z.ZodType | undefined
    const kind = idParams[name]
    const text = { type: 'string', ...(kind === undefined ? {} : idSchema(kind)) }
    return {
      name,
      in: 'path',
      required: true,
      schema: declared === undefined ? text : schemaOf(declared, 'input', components),
    }
  })

const queryParameters = ({ query }: Endpoint, components: Json): Json[] =>
  Object.entries(query?.shape ?? {}).map(([name, schema]) => {
    const { description, ...rest } = schemaOf(schema as z.ZodType, 'input', components)
    // Zod omits the examples of a transformed schema from its input schema.
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

/** Returns the schema of a scope header. An optional header may be empty. */
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

/** Returns the JSON Schema of a zod schema. Schemas with an id are added to the components and referenced. */
const schemaOf = (schema: z.ZodType, io: 'input' | 'output', components: Json): Json => {
  const { $defs = {}, properties } = z.toJSONSchema(z.object({ root: schema }), {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      // The pattern of a transformed string does not apply to the type that the description declares.
      if (jsonSchema.type === 'integer' && 'pattern' in jsonSchema) delete jsonSchema.pattern
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern
    },
  })
  for (const [id, definition] of Object.entries($defs)) {
    const { id: _, ...rest } = definition
    components[id] = rewriteRefs(rest)
  }
  return rewriteRefs(properties?.root) as Json
}

/** Makes references point to the components of the document. */
const rewriteRefs = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(rewriteRefs)
  if (typeof node !== 'object' || node === null) return node
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) =>
      key === '$ref' ? [key, String(value).replace('#/$defs/', '#/components/schemas/')] : [key, rewriteRefs(value)],
    ),
  )
}
