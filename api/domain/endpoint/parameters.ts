import * as z from 'zod'
import { organizationHeader, projectHeader, worldHeader } from '#api/domain/access/scope.ts'
import { exampleId } from '#api/platform/http/examples.ts'
import { optional, shownId } from '#api/platform/http/fields.ts'
import { idPattern } from '#shared/ids.ts'
import type { Endpoint, Scope } from './endpoint.ts'
import { type Json, schemaOf } from './jsonSchema.ts'
import { idParams } from './serve.ts'

/** Returns the OpenAPI parameters of an endpoint: those of its path and query, and its headers. */
export const parametersOf = (endpoint: Endpoint, components: Record<string, Json>): Json[] => [
  ...pathParameters(endpoint, components),
  ...queryParameters(endpoint, components),
  ...headers(endpoint),
]

/** The schemas of the path parameters that are ids. */
const paramIds: Readonly<Record<string, z.ZodType>> = {
  ...Object.fromEntries(Object.entries(idParams).map(([name, kind]) => [name, shownId(kind)])),
  organizationId: shownId('organization').describe(
    `Identifier of the organization. It must equal the header ${organizationHeader}.`,
  ),
}

const pathParameters = (endpoint: Endpoint, components: Record<string, Json>): Json[] =>
  [...endpoint.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const declared = endpoint.params?.shape[name] ?? paramIds[name]
    const { description, ...schema } = schemaOf(declared as z.ZodType, 'input', components)
    return { name, in: 'path', required: true, description, schema }
  })

const queryParameters = ({ query }: Endpoint, components: Record<string, Json>): Json[] =>
  Object.entries(query?.shape ?? {}).map(([name, schema]) => {
    const { description, ...rest } = schemaOf(schema as z.ZodType, 'input', components)
    // Zod omits the examples of a transformed schema from its input schema.
    const { examples } = z.globalRegistry.get(schema as z.ZodType) ?? {}
    return { name, in: 'query', required: false, description, schema: { ...rest, ...optional('examples', examples) } }
  })

const scopeHeaders: Record<Scope, [ScopeHeader, boolean][]> = {
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

const scopeKinds = { [organizationHeader]: 'organization', [projectHeader]: 'project', [worldHeader]: 'world' } as const
type ScopeHeader = keyof typeof scopeKinds

const header = (name: string, required: boolean, description: string, schema: Json): Json => ({
  name,
  in: 'header',
  required,
  description,
  schema: { type: 'string', ...schema },
})

/** Returns the parameters for scope headers, each of which is required or not. An optional header may be empty. */
export const headerParameters = (names: readonly (readonly [ScopeHeader, boolean])[]): Json[] =>
  names.map(([name, required]) => {
    const kind = scopeKinds[name]
    const pattern = `${required ? '' : '^$|'}${idPattern(kind)}`
    return header(name, required, `Identifier of the ${kind} of the request.`, { pattern, examples: [exampleId(kind)] })
  })

const ifMatchText =
  'Entity tags. The request is refused with 412 if the revision of the resource differs from all of them.'
const ifNoneMatchText =
  'Entity tags. A read gets 304 if one is current. `*` refuses a write with 412 if the resource exists.'
const keyText =
  'Makes the request safe to repeat for 24 hours: a repetition gets the first response. Another body gets 409.'

const tagExample = { examples: ['"3.pmWkWSBCL51Bfkhn79xPuKBKHz__H6B-mY6G9_eieuM"'] }

const headers = ({ method, scope = 'none', lockRevision, answerHeaders, idempotent }: Endpoint): Json[] => [
  ...headerParameters(scopeHeaders[scope]),
  ...(lockRevision ? [header('if-match', false, ifMatchText, tagExample)] : []),
  ...(method === 'put' ? [header('if-none-match', false, ifNoneMatchText, { examples: ['*'] })] : []),
  ...(method === 'get' && answerHeaders?.includes('etag')
    ? [header('if-none-match', false, ifNoneMatchText, tagExample)]
    : []),
  ...(idempotent
    ? [header('idempotency-key', false, keyText, { pattern: '^[\\x21-\\x7e]{1,255}$', examples: ['order-1042'] })]
    : []),
]
