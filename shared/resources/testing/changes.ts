import * as z from 'zod'

type Schema = {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly default?: unknown
  readonly format?: string
  readonly examples?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
}

/** A change of one leaf of a spec: its JSON Pointer, and an object that has the new value at that place alone. */
export type Change = { readonly pointer: string; readonly change: object }

/** Returns a change of every leaf of a schema, each to a value other than the default. Throws for a kind of leaf without one. */
export const changesOf = (schema: z.ZodType): Change[] => {
  const changes: Change[] = []
  const walk = (field: Schema, path: readonly string[]): void => {
    if (field.properties === undefined) changes.push(toChange(path, anotherValue(field, path)))
    else for (const [name, inner] of Object.entries(field.properties)) walk(inner, [...path, name])
  }
  walk(z.toJSONSchema(schema, { io: 'input' }) as Schema, [])
  return changes
}

const toChange = (path: readonly string[], value: unknown): Change => {
  const change = path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value)
  return { pointer: path.map((name) => `/${name}`).join(''), change: Object(change) }
}

const anotherValue = (
  { type, enum: values, default: present, ...schema }: Schema,
  path: readonly string[],
): unknown => {
  if (values !== undefined) return values[values.indexOf(present) + 1] ?? values[0]
  switch (type) {
    case 'boolean':
      return present !== true
    case 'integer':
    case 'number':
      return 2
    case 'string':
      return schema.examples?.[0] ?? (schema.format === 'date-time' ? '2030-01-01T00:00:00.000Z' : 'changed')
    case 'array':
      return [anotherItem(schema.items, path)]
    case 'object':
      return { changed: 'changed' }
    default:
      throw new Error(`changesOf knows no other value for /${path.join('/')}, which has the type ${type}.`)
  }
}

/** Returns an item of a list: a text, or an object with the fields that it must have. */
const anotherItem = ({ properties = {}, required }: Schema = {}, path: readonly string[]): unknown =>
  required === undefined
    ? 'changed'
    : Object.fromEntries(required.map((name) => [name, anotherValue(properties[name] ?? {}, [...path, name])]))
