import * as z from 'zod'

const maxFields = 64

/**
 * Returns the JSON Pointers of the fields that a body gives, at most 64. Only names that the schema declares are listed, so
 * that no key of a map, which may hold anything, becomes part of the result.
 */
export const fieldNamesOf = (schema: z.core.$ZodType | undefined, body: unknown): string[] =>
  schema === undefined ? [] : pointers(schema, body, '').slice(0, maxFields)

const pointers = (schema: z.core.$ZodType, value: unknown, at: string): string[] => {
  const object = objectOf(schema)
  const isNested = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (object === undefined || !isNested) return at === '' ? [] : [at]
  return Object.entries(object.shape).flatMap(([name, inner]) =>
    name in value ? pointers(inner, (value as Record<string, unknown>)[name], `${at}/${name}`) : [],
  )
}

/** Returns the object schema under optional, default and transformed ones; undefined for any other. */
const objectOf = (schema: z.core.$ZodType): z.ZodObject | undefined => {
  if (schema instanceof z.ZodObject) return schema
  const { def } = (schema as z.core.$ZodTypes)._zod
  if ('innerType' in def) return objectOf(def.innerType)
  return def.type === 'pipe' ? objectOf(def.in) : undefined
}
