import * as z from 'zod'

/** The keywords of a JSON Schema from which types are generated: those that the schemas of the API use. */
export type Schema = {
  readonly $ref?: string
  readonly type?: string
  readonly description?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
}

const schema: z.ZodType<Schema> = z.lazy(() =>
  z.object({
    $ref: z.string().exactOptional(),
    type: z.string().exactOptional(),
    description: z.string().exactOptional(),
    const: z.unknown().exactOptional(),
    enum: z.array(z.unknown()).exactOptional(),
    properties: z.record(z.string(), schema).exactOptional(),
    required: z.array(z.string()).exactOptional(),
    additionalProperties: z.union([schema, z.boolean()]).exactOptional(),
    items: schema.exactOptional(),
    anyOf: z.array(schema).exactOptional(),
    allOf: z.array(schema).exactOptional(),
    // A schema with another form of alternatives must not become `unknown`.
    oneOf: z.never().exactOptional(),
  }),
)

const content = z.record(z.string(), z.object({ schema })).default({})
const parameter = z.object({
  name: z.string(),
  in: z.enum(['path', 'query', 'header']),
  description: z.string(),
  required: z.boolean(),
  schema,
})
/** The needs of an operation: words, and flags that are true. */
const needs = z.record(z.string(), z.union([z.string(), z.literal(true)]))
const operation = z.object({
  operationId: z.string(),
  summary: z.string(),
  description: z.string(),
  parameters: z.array(parameter),
  requestBody: z.object({ content }).exactOptional(),
  responses: z.record(z.string(), z.object({ content })),
  'x-orrery-needs': needs.exactOptional(),
})
const shape = z.object({
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.object({ schemas: z.record(z.string(), schema) }),
})

/** Bodies by media type. */
export type Content = z.output<typeof content>
/** A parameter of an operation. */
export type Parameter = z.output<typeof parameter>
/** An operation with its method and path. */
export type Operation = z.output<typeof operation> & { readonly method: string; readonly path: string }
/** The schemas and operations of a document, sorted by name so that the order of the routes does not matter. */
export type ApiDocument = { readonly schemas: readonly (readonly [string, Schema])[]; readonly operations: Operation[] }

/** Reads the OpenAPI document of the API. Throws a ZodError with the path of the first part that no client can be generated from. */
export const readDocument = (document: unknown): ApiDocument => {
  const { paths, components } = shape.parse(document)
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, found]) => ({ ...found, method: method.toUpperCase(), path })),
  )
  return {
    schemas: Object.entries(components.schemas).sort(byName(([name]) => name)),
    operations: operations.sort(byName(({ operationId }) => operationId)),
  }
}

const byName =
  <T>(nameOf: (value: T) => string) =>
  (a: T, b: T): number =>
    nameOf(a) < nameOf(b) ? -1 : 1
