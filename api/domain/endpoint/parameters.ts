import * as z from 'zod'
import { organizationHeader, projectHeader, worldHeader } from '#api/domain/access/scope.ts'
import { exampleId } from '#api/platform/http/examples.ts'
import { optional } from '#api/platform/http/fields.ts'
import { type IdKind, idPattern } from '#shared/ids.ts'
import { parameterDescriptions } from './descriptions.ts'
import type { Endpoint, Scope } from './endpoint.ts'
import { type Json, schemaOf } from './jsonSchema.ts'
import { idParams } from './serve.ts'

/** Returns the OpenAPI parameters of an endpoint: those of its path and query, and its headers. */
export const parametersOf = (endpoint: Endpoint, components: Record<string, Json>): Json[] => [
  ...pathParameters(endpoint, components),
  ...queryParameters(endpoint, components),
  ...headers(endpoint),
]

const idSchema = (kind: IdKind): Json => ({ pattern: idPattern(kind), examples: [exampleId(kind)] })

const pathParameters = (endpoint: Endpoint, components: Record<string, Json>): Json[] =>
  [...endpoint.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const declared = endpoint.params?.shape[name] as z.ZodType | undefined
    const kind = idParams[name]
    const text = { type: 'string', ...(kind && idSchema(kind)) }
    return {
      name,
      in: 'path',
      required: true,
      ...optional('description', parameterDescriptions[name]),
      schema: declared === undefined ? text : schemaOf(declared, 'input', components),
    }
  })

const queryParameters = ({ query }: Endpoint, components: Record<string, Json>): Json[] =>
  Object.entries(query?.shape ?? {}).map(([name, schema]) => {
    const { description, ...rest } = schemaOf(schema as z.ZodType, 'input', components)
    // Zod omits the examples of a transformed schema from its input schema.
    const { examples } = z.globalRegistry.get(schema as z.ZodType) ?? {}
    return { name, in: 'query', required: false, description, schema: { ...rest, ...optional('examples', examples) } }
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

const header = (name: string, required: boolean, schema: Json = {}): Json => ({
  name,
  in: 'header',
  required,
  ...optional('description', parameterDescriptions[name]),
  schema: { type: 'string', ...schema },
})

/** Returns the parameters for scope headers, each of which is required or not. */
export const headerParameters = (names: readonly (readonly [string, boolean])[]): Json[] =>
  names.map(([name, required]) => header(name, required, scopePattern(name, required)))

const tagExample = { examples: ['"3.pmWkWSBCL51Bfkhn79xPuKBKHz__H6B-mY6G9_eieuM"'] }

const headers = ({ method, scope = 'none', lockRevision, answerHeaders, idempotent }: Endpoint): Json[] => [
  ...headerParameters(scopeHeaders[scope]),
  ...(lockRevision ? [header('if-match', false, tagExample)] : []),
  ...(method === 'put' ? [header('if-none-match', false, { examples: ['*'] })] : []),
  ...(method === 'get' && answerHeaders?.includes('etag') ? [header('if-none-match', false, tagExample)] : []),
  ...(idempotent
    ? [header('idempotency-key', false, { pattern: '^[\\x21-\\x7e]{1,255}$', examples: ['order-1042'] })]
    : []),
]
