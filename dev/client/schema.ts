import * as z from 'zod'

/** The keywords of a JSON Schema (OpenAPI 3.1) from which types are generated. */
export type Schema = boolean | SchemaObject
export type SchemaObject = {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly deprecated?: boolean
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema
  readonly items?: Schema
  readonly prefixItems?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly not?: Schema
}

/** Parses a schema and drops all other keywords. */
export const schema: z.ZodType<Schema> = z.lazy(() => z.union([z.boolean(), schemaObject]))
const schemas = z.array(schema).exactOptional()
const schemaObject: z.ZodType<SchemaObject> = z.object({
  $ref: z.string().exactOptional(),
  type: z.union([z.string(), z.array(z.string())]).exactOptional(),
  description: z.string().exactOptional(),
  deprecated: z.boolean().exactOptional(),
  const: z.unknown().exactOptional(),
  enum: z.array(z.unknown()).exactOptional(),
  properties: z.record(z.string(), schema).exactOptional(),
  required: z.array(z.string()).exactOptional(),
  additionalProperties: schema.exactOptional(),
  items: schema.exactOptional(),
  prefixItems: schemas,
  anyOf: schemas,
  oneOf: schemas,
  allOf: schemas,
  not: schema.exactOptional(),
})
