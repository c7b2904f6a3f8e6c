import * as z from 'zod'

/** A JSON object, such as a JSON Schema or a part of an OpenAPI document. */
export type Json = { [key: string]: unknown }

/** Returns the JSON Schema of a zod schema. Schemas with an id are added to the components and referenced. */
export const schemaOf = (schema: z.ZodType, io: 'input' | 'output', components: Record<string, Json>): Json => {
  const { $defs = {}, properties } = z.toJSONSchema(z.object({ root: schema }), {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      // The pattern of a transformed string does not apply to the type that the description declares.
      if (jsonSchema.type === 'integer' && 'pattern' in jsonSchema) delete jsonSchema.pattern
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern
      // A list in the query declares its type; the union is of the forms that it is parsed from.
      if (jsonSchema.type === 'array') delete jsonSchema.anyOf
      // Variants from `meta` are complete schemas. Generators of clients do not join them with the fields beside them.
      if (jsonSchema.anyOf && jsonSchema.properties) {
        for (const key of ['type', 'properties', 'required', 'additionalProperties'] as const) delete jsonSchema[key]
      }
    },
  })
  for (const [id, definition] of Object.entries($defs)) {
    const { id: _, ...rest } = definition
    components[id] = rewriteRefs(rest) as Json
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
