import type { Schema } from './document.ts'

const identifier = /^[A-Za-z_$][\w$]*$/

/** A member of an object type. */
export type Member = {
  readonly name: string
  readonly type: string
  readonly required: boolean
  readonly doc?: string | undefined
}

/** Returns the TypeScript type of a schema. */
export const typeOf = (schema: Schema, indent = ''): string => {
  if (schema.$ref !== undefined) return schema.$ref.replace('#/components/schemas/', '')
  if (schema.anyOf) return joined(schema.anyOf.map((each) => typeOf(each, indent)))
  if (schema.allOf) return schema.allOf.map((each) => bracketed(typeOf(each, indent))).join(' & ')
  if (schema.const !== undefined) return literal(schema.const)
  if (schema.enum) return joined(schema.enum.map(literal))
  return ofType(schema, indent)
}

const bracketed = (type: string): string => (type.includes(' | ') ? `(${type})` : type)

/** Returns an object type with one member per line, or `none` without members. */
export const objectType = (members: readonly Member[], indent: string, none: string): string => {
  if (members.length === 0) return none
  const lines = members.flatMap(({ name, type, required, doc }) => [
    ...docLines(doc, `${indent}  `),
    `${indent}  ${name}${required ? '' : '?'}: ${type}`,
  ])
  return `{\n${lines.join('\n')}\n${indent}}`
}

/** Returns a key of an object type, quoted if necessary. */
export const keyOf = (name: string): string => (identifier.test(name) ? name : literal(name))

/** Returns a value as a TypeScript literal. */
export const literal = (value: unknown): string =>
  typeof value === 'string'
    ? `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
    : JSON.stringify(value)

/** Returns the lines of a doc comment; none for an empty text. */
export const docLines = (doc: string | undefined, indent: string): string[] => {
  const lines = (doc ?? '').trim().replaceAll('*/', '* /').split(/\r?\n/)
  if (lines.length > 1) return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`]
  return lines[0] ? [`${indent}/** ${lines[0]} */`] : []
}

const ofType = (schema: Schema, indent: string): string => {
  const { type } = schema
  if (type === 'object') return objectOf(schema, indent)
  if (type === 'array') return arrayOf(schema, indent)
  if (type === 'integer' || type === 'number') return 'number'
  return type ?? 'unknown'
}

const objectOf = ({ properties, required = [], additionalProperties }: Schema, indent: string): string => {
  const others = typeof additionalProperties === 'object' ? typeOf(additionalProperties, indent) : 'unknown'
  if (!properties) return `{ [key: string]: ${others} }`
  const members = Object.entries(properties).map(([name, schema]) => ({
    name: keyOf(name),
    type: typeOf(schema, `${indent}  `),
    required: required.includes(name),
    doc: schema.description,
  }))
  // TypeScript requires an index signature to cover the named members too, whose types can differ.
  const open = additionalProperties !== undefined && additionalProperties !== false
  return objectType(
    [...members, ...(open ? [{ name: '[key: string]', type: 'unknown', required: true }] : [])],
    indent,
    '{ [key: string]: never }',
  )
}

const arrayOf = ({ items }: Schema, indent: string): string => {
  const item = items ? typeOf(items, indent) : 'unknown'
  return /^\w+$/.test(item) ? `${item}[]` : `Array<${item}>`
}

const joined = (types: readonly string[]): string => [...new Set(types)].join(' | ')
