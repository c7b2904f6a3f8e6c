import * as z from 'zod'
import { multipartOverheadBytes } from '#api/platform/http/body.ts'
import { pictureTypes } from '#api/platform/http/upload.ts'
import { withDefined } from '#shared/optional.ts'
import { productVersion } from '#shared/version.ts'
import { addExamples, examplesOf, nameNestedObjects } from './components.ts'
import { credentialOf, type Endpoint } from './endpoint.ts'
import { introduction } from './introduction.ts'
import { type Json, schemaOf } from './jsonSchema.ts'
import { parametersOf } from './parameters.ts'

/** An OpenAPI 3.1 document. The parts with a type are those that the client and the tests read. */
export type OpenApiDocument = Json & {
  readonly info: Json
  readonly tags: readonly Json[]
  readonly paths: Record<string, Json>
  readonly components: { readonly schemas: Record<string, Json>; readonly [key: string]: unknown }
}

const problem = z
  .object({
    type: z.string().describe('URI of the kind of problem: `/problems/<code>`.'),
    title: z.string().describe('Short text for the code.'),
    status: z.number().describe('HTTP status.'),
    detail: z.string().describe('Description of the problem in this request, for people.'),
    code: z.string().describe('Stable code of the problem, for programs.'),
    requestId: z.string().describe('Identifier of the request in the log.'),
    errors: z
      .array(
        z.object({
          path: z.string().describe('JSON Pointer (RFC 6901) into the body, or the name of a header or parameter.'),
          message: z.string().describe('Description of the validation error, for people.'),
        }),
      )
      .exactOptional()
      .describe('The validation errors, at most 32.'),
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
        errors: [{ path: '/name', message: 'required' }],
      },
    ],
  })

const descriptions: Record<number, string> = {
  304: 'The client has the current response: If-None-Match names its entity tag.',
  400: 'The request is malformed or invalid. `errors` lists the validation errors.',
  401: 'The credential is missing or invalid.',
  403: 'The credential has no permission for the request.',
  404: 'The resource does not exist, or the credential or the scope headers give no access to it.',
  408: 'The body arrives too slowly. The connection is closed.',
  409: 'The request conflicts with the current state.',
  412: 'A precondition failed: the entity tag in If-Match is not current, or If-None-Match excludes the resource.',
  413: 'The body is too large.',
  415: 'The content type is not supported.',
  422: 'The build cannot be resolved.',
  426: 'The path accepts WebSocket connections only.',
  429: 'Too many requests. Retry after Retry-After seconds.',
  500: 'An unexpected error. The log has an entry with the request id.',
  501: 'The installation does not offer this.',
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
export const openApiDocument = (endpoints: readonly Endpoint[]): OpenApiDocument => {
  const components: Record<string, Json> = {}
  const paths: Record<string, Json> = {}
  for (const endpoint of endpoints) {
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method]: operation(endpoint, components) }
  }
  const schemas = finishComponents(components)
  for (const content of contentsIn(paths)) addMediaExamples(content, schemas)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Orrery',
      version: productVersion,
      description: introduction,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    tags: [...new Set(endpoints.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas,
      headers: namedHeaders,
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
        token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      },
    },
  }
}

const finishComponents = (components: Readonly<Record<string, Json>>): Record<string, Json> => {
  const sorted = Object.fromEntries(Object.entries(components).sort(([a], [b]) => (a < b ? -1 : 1)))
  const schemas = nameNestedObjects(sorted)
  addExamples(schemas)
  return schemas
}

type MediaType = { schema?: Json; examples?: Json }

/** Returns the JSON bodies of all operations and responses. */
const contentsIn = (paths: Readonly<Record<string, Json>>): MediaType[] =>
  Object.values(paths)
    .flatMap((path) => Object.values(path) as { requestBody?: Json; responses: Record<string, Json> }[])
    .flatMap(({ requestBody, responses }) => [requestBody, ...Object.values(responses)])
    .flatMap((body) => Object.values((body?.content ?? {}) as Record<string, MediaType>))

/** Shows the examples of a schema beside the operation, where tools look for them first. */
const addMediaExamples = (content: MediaType, schemas: Readonly<Record<string, Json>>): void => {
  const examples = content.schema === undefined ? [] : examplesOf(content.schema, schemas)
  if (examples.length === 0) return
  content.examples = Object.fromEntries(examples.map((value, at) => [`example${at + 1}`, { value }]))
}

const security: Record<NonNullable<Endpoint['credential']>, Json[]> = {
  none: [],
  key: [{ apiKey: [] }],
  token: [{ token: [] }],
  keyOrToken: [{ apiKey: [] }, { token: [] }],
}

const credentialTexts: Record<NonNullable<Endpoint['credential']>, string> = {
  none: '',
  key: "Takes an API key only; a user's token gets 403.",
  token: "Takes a user's token only.",
  keyOrToken: "Takes an API key or a user's token.",
}

const uploadText =
  'The picture is scaled down to at most 1024 x 1024 pixels and stored as WebP. The previous upload is deleted.'

const descriptionOf = (endpoint: Endpoint): string =>
  [endpoint.description, endpoint.upload && uploadText, credentialTexts[credentialOf(endpoint)]]
    .filter(Boolean)
    .join(' ')

/**
 * Returns the extension that says what the caller needs, so that a client knows of a 403 before the request. The scope is absent where
 * only the request names it.
 */
const needsOf = (endpoint: Endpoint): Json => {
  const { subtree, claim, platformOnly } = endpoint
  const [scope, verb] = endpoint.needs ?? []
  const credential = credentialOf(endpoint)
  const needs = withDefined({
    scope: typeof scope === 'string' ? scope : undefined,
    verb,
    subtree,
    claim,
    platformOnly,
    credential: credential === 'key' || credential === 'token' ? credential : undefined,
  })
  return Object.keys(needs).length === 0 ? {} : { 'x-orrery-needs': needs }
}

const operation = (endpoint: Endpoint, components: Record<string, Json>): Json => ({
  operationId: endpoint.operationId,
  summary: endpoint.summary,
  description: descriptionOf(endpoint),
  tags: [endpoint.tag],
  security: security[credentialOf(endpoint)],
  ...needsOf(endpoint),
  parameters: parametersOf(endpoint, components),
  ...requestBody(endpoint, components),
  responses: {
    [endpoint.status ?? 200]: success(endpoint, components),
    ...(isTagged(endpoint) && endpoint.method === 'get' ? { 304: unmodified } : {}),
    ...Object.fromEntries(statusesOf(endpoint).map((status) => [status, failure(status, components)])),
  },
})

const success = (endpoint: Endpoint, components: Record<string, Json>): Json => ({
  description: endpoint.answerDescription ?? 'The request succeeded.',
  headers: {
    ...headersOf(endpoint.status ?? 200),
    // The last page has no Link header.
    ...Object.fromEntries(
      (endpoint.answerHeaders ?? []).map((name) => [name, { required: name !== 'link', schema: { type: 'string' } }]),
    ),
  },
  ...(endpoint.streams && {
    content: Object.fromEntries(endpoint.streams.map((type) => [type, { schema: { type: 'string' } }])),
  }),
  ...(endpoint.answer === undefined
    ? {}
    : { content: { 'application/json': { schema: schemaOf(endpoint.answer, 'output', components) } } }),
})

const failure = (status: number, components: Record<string, Json>): Json => ({
  description: descriptions[status] ?? '',
  headers: headersOf(status),
  content: { 'application/problem+json': { schema: schemaOf(problem, 'output', components) } },
})

const isTagged = ({ answerHeaders }: Endpoint): boolean => answerHeaders?.includes('etag') === true

const unmodified: Json = {
  description: descriptions[304],
  headers: { ...headersOf(304), etag: { required: true, schema: { type: 'string' } } },
}

/** Returns the error statuses that an endpoint may answer with. */
const statusesOf = (endpoint: Endpoint): number[] => {
  const { scope = 'none', needs, body, upload, query, params, idempotent } = endpoint
  const credential = credentialOf(endpoint)
  const needsScope = scope !== 'none' && scope !== 'optional'
  const hasInput = needsScope || body || upload || query || params || idempotent
  const statuses = [
    ...[429, 500, 503],
    ...(credential === 'none' ? [] : [401]),
    ...(hasInput ? [400] : []),
    ...(scope === 'none' && !endpoint.path.includes('{') ? [] : [404]),
    ...(credential === 'key' || (needs && needs[1] !== 'r') ? [403] : []),
    ...(body || upload ? [408, 413, 415] : []),
    ...(isTagged(endpoint) || endpoint.method !== 'get' ? [412] : []),
    ...(idempotent ? [409] : []),
    ...(endpoint.problems ?? []),
  ]
  return [...new Set(statuses)].sort((a, b) => a - b)
}

const requestBody = (endpoint: Endpoint, components: Record<string, Json>): Json => {
  if (endpoint.upload) {
    // Generators of clients know bytes by this format, which OpenAPI 3.1 no longer needs.
    const bytes = { type: 'string', format: 'binary' }
    const raw = Object.fromEntries(pictureTypes.map((type) => [type, { schema: bytes }]))
    const form = {
      type: 'object',
      required: ['file'],
      properties: {
        file: {
          ...bytes,
          contentMediaType: 'application/octet-stream',
          description: 'A PNG, JPEG or WebP picture.',
        },
      },
      description: `One file of at most 10 MiB. The form may add ${multipartOverheadBytes} bytes.`,
    }
    // openapi-generator reads the first type. In another place, it imports a class for the form and does not write it.
    return { requestBody: { required: true, content: { 'multipart/form-data': { schema: form }, ...raw } } }
  }
  if (endpoint.body === undefined) return {}
  const schema = schemaOf(endpoint.body, 'input', components)
  return { requestBody: { required: true, content: { 'application/json': { schema } } } }
}

/** Returns the error responses with the given statuses. Their schema is a component of every document. */
export const problemResponses = (statuses: readonly number[]): Json =>
  Object.fromEntries(statuses.map((status) => [status, failure(status, {})]))
