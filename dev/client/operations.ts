import type { Content, Operation, Parameter } from './document.ts'
import { docOf, keyOf, literal, type Member, objectType, typeOf } from './types.ts'

/** The client sets these itself, of its credential and scope or of the body. */
const ownHeaders = ['accept', 'authorization', 'content-type', 'x-api-key', 'x-svc-organization-id', 'x-svc-project-id']
/** The client has members of these names; an object with `then` is taken for a promise. */
const takenNames = ['in', 'pages', 'request', 'then']

/** The type of a part of the input that has no member, declared in the file that is written. */
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

/** The operations as a value: what a request of each is made of. */
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
  const answers = Object.entries(responses).flatMap(([status, { content }]) =>
    /^2(\d\d|XX)$/.test(status) ? [answerType(content, indent)] : [],
  )
  const part = (name: string, type: string) => ({ name, type, required: true })
  return objectType(
    [
      part('params', objectType(named('path').map(parameterMember), indent, noneType)),
      part('query', objectType(named('query').map(parameterMember), indent, noneType)),
      part('headers', objectType(headerMembers(named('header'), requestBody?.content ?? {}), indent, noneType)),
      part('body', requestBody?.required === false ? `${body} | undefined` : (body ?? 'undefined')),
      part('answer', [...new Set(answers)].join(' | ') || 'undefined'),
    ],
    '  ',
    '',
  )
}

const parameterMember = ({ name, required, schema, description, ...parameter }: Parameter): Member => ({
  name: keyOf(name),
  type: typeOf(schema, '      '),
  required: required || parameter.in === 'path',
  doc: description ?? docOf(schema),
})

/** A body of bytes does not tell its own type, so that the caller may name it. */
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
