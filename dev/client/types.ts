import type { Schema, SchemaObject } from './schema.ts'

const identifier = /^[A-Za-z_$][\w$]*$/
const componentRef = /^#\/components\/schemas\/([^/]+)$/

/** A member of an object type. */
export type Member = {
  readonly name: string
  readonly type: string
  readonly required: boolean
  readonly doc?: string | undefined
}

/** Returns the TypeScript type of a schema. Throws if the schema cannot be expressed as a type. */
export const typeOf = (schema: Schema, indent = ''): string => {
  if (schema === true) return 'unknown'
  if (schema === false) return 'never'
  if (schema.$ref !== undefined) return typeNameOf(schema.$ref)
  const parts = [
    ...(schema.anyOf ? [union(schema.anyOf, indent)] : []),
    ...(schema.oneOf ? [union(schema.oneOf, indent)] : []),
    ...(schema.allOf ?? []).map((each) => typeOf(each, indent)),
  ]
  // A bare `type: object` adds nothing to other parts, and as a type it would allow any key.
  const plain = schema.type === 'object' && !schema.properties && typeof schema.additionalProperties !== 'object'
  return intersection(plain && parts.length > 0 ? parts : [ownType(schema, indent), ...parts])
}

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

/** Returns the description of a schema. */
export const docOf = (schema: Schema): string | undefined => {
  if (typeof schema === 'boolean') return undefined
  return [schema.description, ...(schema.deprecated ? ['@deprecated'] : [])].filter(Boolean).join('\n')
}

/** Returns the type that a reference names. Throws if it is not a reference to a component schema. */
const typeNameOf = (ref: string): string => {
  const name = componentRef.exec(ref)?.[1]
  if (name === undefined) throw new Error(`${ref} does not lead to a schema in #/components/schemas/.`)
  return componentName(name)
}

/** Returns the name of a component as a type name. Throws if it is not a valid one. */
export const componentName = (name: string): string => {
  if (!identifier.test(name)) throw new Error(`The schema ${name} must be named as a TypeScript type can be.`)
  return name
}

const ownType = (schema: SchemaObject, indent: string): string => {
  if (schema.not !== undefined) return isEmpty(schema.not) ? 'never' : 'unknown'
  if (schema.const !== undefined) return literal(schema.const)
  if (schema.enum) return joined(schema.enum.map(literal), ' | ')
  const type = schema.type ?? (schema.properties || schema.additionalProperties !== undefined ? 'object' : undefined)
  if (type === undefined) return 'unknown'
  return joined(
    [type].flat().map((each) => ofType(each, schema, indent)),
    ' | ',
  )
}

const ofType = (type: string, schema: SchemaObject, indent: string): string => {
  if (type === 'object') return objectOf(schema, indent)
  if (type === 'array') return arrayOf(schema, indent)
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'string' || type === 'boolean' || type === 'null') return type
  throw new Error(`A schema has the type ${type}, which JSON Schema does not know.`)
}

const objectOf = ({ properties = {}, required = [], additionalProperties }: SchemaObject, indent: string): string => {
  const members = Object.entries(properties).map(([name, schema]) => ({
    name: keyOf(name),
    type: typeOf(schema, `${indent}  `),
    required: required.includes(name),
    doc: docOf(schema),
  }))
  if (members.length === 0) return `{ [key: string]: ${typeOf(additionalProperties ?? true, indent)} }`
  // TypeScript requires an index signature to cover the named members too, whose types can differ.
  const open = additionalProperties !== undefined && additionalProperties !== false
  const others = open ? [{ name: '[key: string]', type: 'unknown', required: true }] : []
  return objectType([...members, ...others], indent, '')
}

const arrayOf = ({ items, prefixItems }: SchemaObject, indent: string): string => {
  const item = typeOf(items ?? true, indent)
  if (!prefixItems) return /^\w+$/.test(item) ? `${item}[]` : `Array<${item}>`
  const rest = items === false ? [] : [`...Array<${item}>`]
  return `[${[...prefixItems.map((each) => typeOf(each, indent)), ...rest].join(', ')}]`
}

const isEmpty = (schema: Schema): boolean => schema === true || (schema !== false && Object.keys(schema).length === 0)

const union = (schemas: readonly Schema[], indent: string): string => {
  const types = schemas.map((each) => typeOf(each, indent))
  return types.includes('unknown') ? 'unknown' : joined(types, ' | ')
}

const intersection = (types: readonly string[]): string => {
  const known = types.filter((type) => type !== 'unknown')
  if (known.length === 0) return 'unknown'
  return known.length === 1 ? known.join() : joined(known.map(bracketed), ' & ')
}

const joined = (types: readonly string[], by: string): string => [...new Set(types)].join(by) || 'never'

const bracketed = (type: string): string => (type.includes(' | ') ? `(${type})` : type)
