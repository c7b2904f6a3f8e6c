import * as z from 'zod'
import { type Schema, schema } from './schema.ts'

const content = z.record(z.string(), z.object({ schema: schema.default(true) })).default({})
const parameter = z.object({
  name: z.string(),
  in: z.enum(['path', 'query', 'header', 'cookie']),
  description: z.string().exactOptional(),
  required: z.boolean().default(false),
  schema: schema.default(true),
})
const operation = z.object({
  operationId: z.string().exactOptional(),
  summary: z.string().exactOptional(),
  description: z.string().exactOptional(),
  deprecated: z.boolean().exactOptional(),
  parameters: z.array(parameter).default([]),
  requestBody: z.object({ required: z.boolean().default(false), content }).exactOptional(),
  responses: z.record(z.string(), z.object({ content })).default({}),
})
const methods = ['get', 'head', 'post', 'put', 'patch', 'delete'] as const
const path = z.object({
  parameters: z.array(parameter).default([]),
  get: operation.exactOptional(),
  head: operation.exactOptional(),
  post: operation.exactOptional(),
  put: operation.exactOptional(),
  patch: operation.exactOptional(),
  delete: operation.exactOptional(),
})
const shape = z.object({
  openapi: z.string().regex(/^3\.1\./, 'must be 3.1'),
  paths: z.record(z.string(), path).default({}),
  components: z.object({ schemas: z.record(z.string(), schema).default({}) }).prefault({}),
})

/** Bodies by media type. */
export type Content = z.output<typeof content>
export type Parameter = z.output<typeof parameter>
/** An operation with its method and path. */
export type Operation = z.output<typeof operation> & {
  readonly operationId: string
  readonly method: string
  readonly path: string
}
/** The schemas and operations of a document, sorted by name so that the order of the routes does not matter. */
export type ApiDocument = { readonly schemas: readonly (readonly [string, Schema])[]; readonly operations: Operation[] }

/** Reads an OpenAPI 3.1 document. Throws an Error that names the first part from which no client can be generated. */
export const readDocument = (document: unknown): ApiDocument => {
  const parsed = shape.safeParse(inlined(document, document, 0))
  if (!parsed.success) throw new Error(`This is not an OpenAPI 3.1 document: ${z.prettifyError(parsed.error)}`)
  const { paths, components } = parsed.data
  const operations = Object.entries(paths).flatMap(([at, { parameters, ...item }]) =>
    methods.flatMap((method) => {
      const found = item[method]
      if (!found) return []
      return [located({ ...found, parameters: [...parameters, ...found.parameters] }, method.toUpperCase(), at)]
    }),
  )
  return {
    schemas: Object.entries(components.schemas).sort(byName(([name]) => name)),
    operations: operations.sort(byName(({ operationId }) => operationId)),
  }
}

/** Returns the operation with its method and path. Throws if it has no operationId or an undescribed path parameter. */
const located = (found: z.output<typeof operation>, method: string, at: string): Operation => {
  const { operationId, parameters } = found
  if (operationId === undefined) throw new Error(`${method} ${at} has no operationId to name its method after.`)
  const filled = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => `{${name}}`)
  const missing = at.match(/\{[^}]*\}/g)?.filter((step) => !filled.includes(step)) ?? []
  if (missing.length > 0) throw new Error(`${method} ${at} does not describe ${missing.join(', ')} of its path.`)
  return { ...found, operationId, method, path: at }
}

const byName =
  <T>(nameOf: (value: T) => string) =>
  (a: T, b: T): number =>
    nameOf(a) < nameOf(b) ? -1 : 1

const maxDepth = 128
const componentRef = /^#\/components\/(schemas|parameters|requestBodies|responses|pathItems)\/([^/]+)$/

/** Replaces references by their targets, except those to schemas, which become type names. */
const inlined = (value: unknown, document: unknown, depth: number): unknown => {
  if (depth > maxDepth) throw new Error(`The document is nested, or refers to itself, more than ${maxDepth} deep.`)
  if (Array.isArray(value)) return value.map((inner) => inlined(inner, document, depth + 1))
  if (typeof value !== 'object' || value === null) return value
  const [, kind, name] = ('$ref' in value && typeof value.$ref === 'string' && componentRef.exec(value.$ref)) || []
  if (kind !== undefined && name !== undefined) {
    const target = ['components', kind, name].reduce(member, document)
    if (target === undefined) throw new Error(`#/components/${kind}/${name} is referred to and is not there.`)
    return kind === 'schemas' ? value : inlined(target, document, depth + 1)
  }
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, inlined(inner, document, depth + 1)]))
}

const member = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? new Map(Object.entries(value)).get(key) : undefined
