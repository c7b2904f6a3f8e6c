import { describe, expect, test } from 'vitest'
import { renderClient } from './render.ts'

const withSchemas = (schemas: object) => renderClient({ openapi: '3.1.0', components: { schemas } })
const withPaths = (paths: object, components: object = {}) => renderClient({ openapi: '3.1.0', paths, components })
const json = (schema: object) => ({ content: { 'application/json': { schema } } })
const done = { responses: { 200: { description: 'Done.' } } }

const types: [what: string, schema: object, type: string][] = [
  ['a schema that says nothing', {}, 'unknown'],
  ['a string', { type: 'string', minLength: 1, format: 'uri' }, 'string'],
  ['an integer', { type: 'integer' }, 'number'],
  ['a number', { type: 'number' }, 'number'],
  ['a boolean', { type: 'boolean' }, 'boolean'],
  ['null', { type: 'null' }, 'null'],
  ['a string or null', { type: ['string', 'null'] }, 'string | null'],
  ['an enumeration', { type: 'string', enum: ['a', "it's", null] }, "'a' | 'it\\'s' | null"],
  ['a constant', { const: 7 }, '7'],
  ['the constant null', { const: null }, 'null'],
  ['what nothing satisfies', { not: {} }, 'never'],
  ['an array', { type: 'array', items: { type: 'string' } }, 'string[]'],
  ['an array of anything', { type: 'array' }, 'unknown[]'],
  ['an array of either', { type: 'array', items: { enum: [1, 2] } }, 'Array<1 | 2>'],
  ['a tuple', { type: 'array', prefixItems: [{ type: 'string' }], items: false }, '[string]'],
  ['a tuple with a rest', { type: 'array', prefixItems: [{ const: 1 }] }, '[1, ...Array<unknown>]'],
  ['a map', { type: 'object', additionalProperties: { type: 'string' } }, '{ [key: string]: string }'],
  ['an object of any keys', { type: 'object' }, '{ [key: string]: unknown }'],
  ['an object without keys', { type: 'object', additionalProperties: false }, '{ [key: string]: never }'],
  ['alternatives', { anyOf: [{ type: 'string' }, { type: 'null' }, { type: 'string' }] }, 'string | null'],
  ['alternatives, one of them anything', { oneOf: [{ type: 'string' }, {}] }, 'unknown'],
  ['all of several', { allOf: [{ $ref: '#/components/schemas/Base' }, { enum: [1, 2] }] }, 'Base & (1 | 2)'],
  ['an object that extends', { type: 'object', allOf: [{ $ref: '#/components/schemas/Base' }] }, 'Base'],
]

describe('the type of a component schema', () => {
  test.each(types)('is correct for %s', (_, schema, type) => {
    expect(withSchemas({ Base: {}, Thing: schema })).toContain(`export type Thing = ${type}\n`)
  })

  test('has the members of the schema with their descriptions, optional unless required', () => {
    const name = { type: 'string', description: 'As people\nread it. */' }
    const inner = { type: 'object', properties: { 'x-y': { type: 'number', deprecated: true } }, required: ['x-y'] }
    const properties = { name, inner }
    const thing = { type: 'object', description: 'A thing.', properties, required: ['inner'], additionalProperties: {} }
    expect(withSchemas({ Thing: thing })).toContain(`/** A thing. */
export type Thing = {
  /**
   * As people
   * read it. * /
   */
  name?: string
  inner: {
    /** @deprecated */
    'x-y': number
  }
  [key: string]: unknown
}
`)
  })

  test('does not depend on the order of the schemas', () => {
    expect(withSchemas({ A: {}, B: {} })).toBe(withSchemas({ B: {}, A: {} }))
  })

  test.each([
    ['a name that no type can have', { 'a-b': {} }, 'The schema a-b must be named'],
    ['a name that the file has itself', { Operations: {} }, 'must not be named Operations'],
    ['a type that JSON Schema does not know', { A: { type: 'date' } }, 'the type date'],
    ['a reference to elsewhere', { A: { $ref: 'other.json#/A' } }, 'other.json#/A does not lead'],
    ['a reference to nothing', { A: { $ref: '#/components/schemas/B' } }, 'B is referred to'],
  ])('is rejected for %s', (_, schemas, message) => {
    expect(() => withSchemas(schemas)).toThrow(message)
  })
})

describe('an operation', () => {
  test('has its parameters, body and response, without the headers that the client sets', () => {
    const parameters = [
      { name: 'worldId', in: 'path', required: true, schema: { type: 'string' } },
      { name: 'status', in: 'query', schema: { type: 'array', items: { type: 'string' } }, description: 'Any of.' },
      { name: 'If-Match', in: 'header', schema: { type: 'string' } },
      ...['X-API-Key', 'x-svc-organization-id', 'x-svc-project-id'].map((name) => ({ name, in: 'header' })),
    ]
    const operation = {
      operationId: 'patchWorld',
      summary: 'Change a world',
      parameters,
      requestBody: { required: true, ...json({ $ref: '#/components/schemas/World' }) },
      responses: { 200: json({ $ref: '#/components/schemas/World' }), 404: json({ type: 'string' }) },
    }
    const text = withPaths({ '/worlds/{worldId}/': { patch: operation } }, { schemas: { World: {} } })
    expect(text).toContain(`export type Operations = {
  /** Change a world */
  patchWorld: {
    params: {
      worldId: string
    }
    query: {
      /** Any of. */
      status?: string[]
    }
    headers: {
      'if-match'?: string
    }
    body: World
    answer: World
  }
}
`)
    expect(text).toContain(
      `export const operations = {
  patchWorld: { method: 'PATCH', path: '/worlds/{worldId}/', body: ['application/json'] },
} as const
`,
    )
  })

  test('may have no parameters, body or response', () => {
    const text = withPaths({ '/a/': { post: { operationId: 'doA', ...done } } })
    expect(text).toContain(`  doA: {
    params: None
    query: None
    headers: None
    body: undefined
    answer: undefined
  }
`)
    expect(text).toContain("  doA: { method: 'POST', path: '/a/' },\n")
  })

  test('uses browser types for bytes, forms and text', () => {
    const body = (...mediaTypes: string[]) => ({ content: Object.fromEntries(mediaTypes.map((type) => [type, {}])) })
    const put = {
      operationId: 'putPicture',
      requestBody: { required: true, ...body('image/png', 'image/webp', 'multipart/form-data') },
      responses: { 204: {} },
    }
    const get = { operationId: 'getPicture', responses: { 200: body('image/png'), 203: body('text/plain') } }
    const text = withPaths({ '/picture/': { put, get } })
    expect(text).toContain("'content-type'?: 'image/png' | 'image/webp'\n")
    expect(text).toContain('body: Blob | Uint8Array | FormData\n')
    expect(text).toContain('answer: Blob | string\n')
    expect(text).toContain("body: ['image/png', 'image/webp', 'multipart/form-data'] }")
  })

  test('may have an optional body', () => {
    const operation = { operationId: 'startWorld', requestBody: json({ type: 'string' }), ...done }
    expect(withPaths({ '/a/': { post: operation } })).toContain('body: string | undefined\n')
  })

  test('has the parameters of its path, also by reference', () => {
    const components = { parameters: { WorldId: { name: 'worldId', in: 'path', schema: { type: 'string' } } } }
    const parameters = [{ $ref: '#/components/parameters/WorldId' }]
    const text = withPaths({ '/{worldId}/': { parameters, get: { operationId: 'getWorld', ...done } } }, components)
    expect(text).toContain('worldId: string\n')
  })

  const get = (operationId?: string) => ({ get: { ...(operationId ? { operationId } : {}), ...done } })
  test.each([
    ['it has no operationId', { '/a/': get() }, 'GET /a/ has no operationId'],
    ['its operationId is that of another', { '/a/': get('getA'), '/b/': get('getA') }, 'More than one'],
    ['its operationId is a member of the client', { '/a/': get('request') }, 'GET /a/ has the operationId request'],
    ['its path has a parameter that it does not describe', { '/{id}/': get('getA') }, 'GET /{id}/'],
    ['it refers to nothing', { '/a/': { parameters: [{ $ref: '#/components/parameters/A' }] } }, 'is referred to and'],
  ])('is rejected if %s', (_, paths, message) => {
    expect(() => withPaths(paths)).toThrow(message)
  })
})

test('rejects a document other than OpenAPI 3.1 with the path of the error', () => {
  expect(() => renderClient({ openapi: '3.0.3' })).toThrow(/must be 3\.1[\s\S]*openapi/)
})

test('a list whose query can name fields has the type of whole items, and beside it that of items with some fields', () => {
  const items = { anyOf: [{ $ref: '#/components/schemas/Thing' }, { $ref: '#/components/schemas/ThingFields' }] }
  const get = { operationId: 'listThings', responses: { 200: json({ type: 'array', items }) } }
  const text = withPaths({ '/things/': { get } }, { schemas: { Thing: {}, ThingFields: {} } })
  expect(text).toContain('    answer: Thing[]\n    sparse: ThingFields[]\n')
})
