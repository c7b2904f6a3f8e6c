import type { Content, Operation, Parameter } from './document.ts'
import { keyOf, literal, type Member, objectType, typeOf } from './types.ts'

/** Headers that the client sets itself, from its credential and scope. */
const ownHeaders = ['x-api-key', 'x-svc-organization-id', 'x-svc-project-id']

/** The type of an input part without members, which the generated file declares. */
export const noneType = 'None'

/** Returns the type of the inputs and responses of all operations. */
export const operationTypes = (operations: readonly Operation[]): string => {
  const members = operations.map((operation) => ({
    name: operation.operationId,
    type: operationType(operation),
    required: true,
    doc: `${operation.summary}\n\n${operation.description}`,
  }))
  return `export type Operations = ${objectType(members, '', '{}')}\n`
}

/** Returns the operations as a value: the method, path and body types of each, and what its caller needs. */
export const operationTable = (operations: readonly Operation[]): string => {
  const rows = operations.map(({ operationId, method, path, requestBody, 'x-orrery-needs': given }) => {
    const types = Object.keys(requestBody?.content ?? {}).map(literal)
    const body = types.length > 0 ? `, body: [${types.join(', ')}]` : ''
    const needed = Object.entries(given ?? {}).map(([name, value]) => `${name}: ${literal(value)}`)
    const needs = needed.length > 0 ? `, needs: { ${needed.join(', ')} }` : ''
    return `  ${operationId}: { method: ${literal(method)}, path: ${literal(path)}${body}${needs} },\n`
  })
  return `export const operations = {\n${rows.join('')}} as const\n`
}

const operationType = ({ parameters, requestBody, responses }: Operation): string => {
  const indent = '    '
  const named = (place: Parameter['in']) => parameters.filter((parameter) => parameter.in === place)
  const contents = Object.entries(responses).flatMap(([status, { content }]) =>
    status.startsWith('2') ? [content] : [],
  )
  const [sparse] = contents.flatMap((content) => sparseListOf(content) ?? [])
  const answers = contents.map((content) => sparse?.whole ?? alternatives(content, answerType))
  const part = (name: string, type: string) => ({ name, type, required: true })
  return objectType(
    [
      part('params', objectType(named('path').map(parameterMember), indent, noneType)),
      part('query', objectType(named('query').map(parameterMember), indent, noneType)),
      part('headers', objectType(headerMembers(named('header'), requestBody?.content ?? {}), indent, noneType)),
      part('body', alternatives(requestBody?.content ?? {}, bodyType)),
      part('answer', answers.join(' | ')),
      ...(sparse === undefined ? [] : [part('sparse', sparse.fields)]),
    ],
    '  ',
    '',
  )
}

/**
 * Returns the types of a list whose query can name the fields of its items: with all fields, and with some of them. The
 * schema of such an item is `anyOf` a component and the component of the same name with `Fields`.
 */
const sparseListOf = (content: Content): { whole: string; fields: string } | undefined => {
  const [whole, fields] = (content['application/json']?.schema.items?.anyOf ?? []).map((each) => typeOf(each))
  return whole !== undefined && fields === `${whole}Fields` ? { whole: `${whole}[]`, fields: `${fields}[]` } : undefined
}

const parameterMember = ({ name, required, schema, description }: Parameter): Member => ({
  name: keyOf(name),
  type: typeOf(schema, '      '),
  required,
  doc: description,
})

/** A body of bytes has no type of its own, so the caller may name it. */
const headerMembers = (headers: readonly Parameter[], content: Content): Member[] => {
  const bytes = Object.keys(content).filter((type) => type.startsWith('image/'))
  return [
    ...headers
      .map((header) => ({ ...header, name: header.name.toLowerCase() }))
      .filter(({ name }) => !ownHeaders.includes(name))
      .map(parameterMember),
    ...(bytes.length > 0 ? [{ name: "'content-type'", type: bytes.map(literal).join(' | '), required: false }] : []),
  ]
}

type MediaType = readonly [name: string, body: Content[string]]

const bodyType = ([name, { schema }]: MediaType): string => {
  if (name === 'application/json') return typeOf(schema, '    ')
  return name === 'multipart/form-data' ? 'FormData' : 'Blob | Uint8Array'
}

const answerType = ([name, { schema }]: MediaType): string =>
  name === 'application/json' ? typeOf(schema, '    ') : 'string'

const alternatives = (content: Content, of: (type: MediaType) => string): string =>
  [...new Set(Object.entries(content).map(of))].join(' | ') || 'undefined'
