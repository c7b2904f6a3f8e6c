import type { Content, Operation, Parameter } from './document.ts'
import { docOf, keyOf, literal, type Member, objectType, typeOf } from './types.ts'

/** Headers that the client sets itself, from its credential and scope or from the body. */
const ownHeaders = ['accept', 'authorization', 'content-type', 'x-api-key', 'x-svc-organization-id', 'x-svc-project-id']
/** Names of the client's own members. An object with `then` would be treated as a promise. */
const takenNames = ['in', 'pages', 'request', 'then']

/** The type of an input part without members, which the generated file declares. */
export const noneType = 'None'

/** Returns the type of the inputs and responses of all operations. Throws if two have the same name. */
export const operationTypes = (operations: readonly Operation[]): string => {
  const members = operations.map((operation) => {
    const name = operation.operationId
    if (!/^[a-z]\w*$/i.test(name) || takenNames.includes(name)) {
      throw new Error(`${operation.method} ${operation.path} has the operationId ${name}, which no method can have.`)
    }
    return { name, type: operationType(operation), required: true, doc: describe(operation) }
  })
  const twice = members.find(({ name }, at) => members.findIndex((other) => other.name === name) !== at)
  if (twice) throw new Error(`More than one operation has the operationId ${twice.name}.`)
  return `export type Operations = ${objectType(members, '', '{}')}\n`
}

/** Returns the operations as a value: the method, path and body types of each. */
export const operationTable = (operations: readonly Operation[]): string => {
  const rows = operations.map(({ operationId, method, path, requestBody }) => {
    const types = Object.keys(requestBody?.content ?? {}).map(literal)
    const body = types.length > 0 ? `, body: [${types.join(', ')}]` : ''
    return `  ${operationId}: { method: ${literal(method)}, path: ${literal(path)}${body} },\n`
  })
  return `export const operations = {\n${rows.join('')}} as const\n`
}

const operationType = ({ parameters, requestBody, responses }: Operation): string => {
  const indent = '    '
  const named = (place: Parameter['in']) => parameters.filter((parameter) => parameter.in === place)
  const body = requestBody && bodyType(requestBody.content, indent)
  const contents = Object.entries(responses).flatMap(([status, { content }]) =>
    /^2(\d\d|XX)$/.test(status) ? [content] : [],
  )
  const [sparse] = contents.flatMap((content) => sparseListOf(content) ?? [])
  const answers = sparse === undefined ? contents.map((content) => answerType(content, indent)) : [sparse.whole]
  const part = (name: string, type: string) => ({ name, type, required: true })
  return objectType(
    [
      part('params', objectType(named('path').map(parameterMember), indent, noneType)),
      part('query', objectType(named('query').map(parameterMember), indent, noneType)),
      part('headers', objectType(headerMembers(named('header'), requestBody?.content ?? {}), indent, noneType)),
      part('body', requestBody?.required === false ? `${body} | undefined` : (body ?? 'undefined')),
      part('answer', [...new Set(answers)].join(' | ') || 'undefined'),
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
  const list = content['application/json']?.schema
  const items = typeof list === 'object' && typeof list.items === 'object' ? list.items : undefined
  const [whole, fields] = (items?.anyOf ?? []).map((each) => typeOf(each))
  return whole !== undefined && fields === `${whole}Fields` ? { whole: `${whole}[]`, fields: `${fields}[]` } : undefined
}

const parameterMember = ({ name, required, schema, description, ...parameter }: Parameter): Member => ({
  name: keyOf(name),
  type: typeOf(schema, '      '),
  required: required || parameter.in === 'path',
  doc: description ?? docOf(schema),
})

/** A body of bytes has no type of its own, so the caller may name it. */
const headerMembers = (headers: readonly Parameter[], content: Content): Member[] => {
  const bytes = Object.keys(content).filter((type) => kindOf(type) === 'bytes')
  const concrete = bytes.every((type) => !type.includes('*'))
  return [
    ...headers
      .map((header) => ({ ...header, name: header.name.toLowerCase() }))
      .filter(({ name }) => !ownHeaders.includes(name))
      .map(parameterMember),
    ...(bytes.length > 0
      ? [{ name: "'content-type'", type: concrete ? bytes.map(literal).join(' | ') : 'string', required: false }]
      : []),
  ]
}

const bodyType = (content: Content, indent: string): string =>
  alternatives(content, (type, schema) => {
    const kind = kindOf(type)
    if (kind === 'json') return typeOf(schema, indent)
    return { form: 'FormData', fields: 'URLSearchParams', text: 'string', bytes: 'Blob | Uint8Array' }[kind]
  })

const answerType = (content: Content, indent: string): string =>
  alternatives(content, (type, schema) => {
    const kind = kindOf(type)
    if (kind === 'json') return typeOf(schema, indent)
    return kind === 'text' ? 'string' : 'Blob'
  })

const alternatives = (content: Content, of: (type: string, schema: Content[string]['schema']) => string): string =>
  [...new Set(Object.entries(content).map(([type, { schema }]) => of(type, schema)))].join(' | ') || 'undefined'

const kindOf = (mediaType: string): 'json' | 'form' | 'fields' | 'text' | 'bytes' => {
  if (/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(mediaType)) return 'json'
  if (/^multipart\//i.test(mediaType)) return 'form'
  if (/^application\/x-www-form-urlencoded/i.test(mediaType)) return 'fields'
  return /^text\//i.test(mediaType) ? 'text' : 'bytes'
}

const describe = ({ summary, description, deprecated }: Operation): string =>
  [summary, description, ...(deprecated ? ['@deprecated'] : [])].filter(Boolean).join('\n\n')
