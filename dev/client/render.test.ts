import { describe, expect, test } from 'vitest'
import { renderClient } from './render.ts'

const withSchemas = (schemas: object) => renderClient({ paths: {}, components: { schemas } })
const withPaths = (paths: object, schemas: object = {}) => renderClient({ paths, components: { schemas } })
const json = (schema: object) => ({ content: { 'application/json': { schema } } })
const operation = (operationId: string, own: object = {}) => ({
  operationId,
  summary: 'Do it',
  description: 'At once.',
  parameters: [],
  responses: { 200: {} },
  ...own,
})

const types: [what: string, schema: object, type: string][] = [
  ['a schema that says nothing', {}, 'unknown'],
  ['a string', { type: 'string', minLength: 1, format: 'uri' }, 'string'],
  ['an integer', { type: 'integer' }, 'number'],
  ['a number', { type: 'number' }, 'number'],
  ['a boolean', { type: 'boolean' }, 'boolean'],
  ['null', { type: 'null' }, 'null'],
  ['an enumeration', { type: 'string', enum: ['a', "it's", null] }, "'a' | 'it\\'s' | null"],
  ['a constant', { const: 7 }, '7'],
  ['the constant null', { const: null }, 'null'],
  ['an array', { type: 'array', items: { type: 'string' } }, 'string[]'],
  ['an array of either', { type: 'array', items: { enum: [1, 2] } }, 'Array<1 | 2>'],
  ['a map', { type: 'object', additionalProperties: { type: 'string' } }, '{ [key: string]: string }'],
  ['an object of any keys', { type: 'object' }, '{ [key: string]: unknown }'],
  ['alternatives', { anyOf: [{ type: 'string' }, { type: 'null' }, { type: 'string' }] }, 'string | null'],
  [
    'all of several',
    { allOf: [{ $ref: '#/components/schemas/Base' }, { $ref: '#/components/schemas/Base' }] },
    'Base & Base',
  ],
]

describe('the type of a component schema', () => {
  test.each(types)('is correct for %s', (_, schema, type) => {
    expect(withSchemas({ Base: {}, Thing: schema })).toContain(`export type Thing = ${type}\n`)
  })

  test('has the members of the schema with their descriptions, optional unless required', () => {
    const name = { type: 'string', description: 'As people\nread it. */' }
    const inner = { type: 'object', properties: { 'x-y': { type: 'number' } }, required: ['x-y'] }
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
    'x-y': number
  }
  [key: string]: unknown
}
`)
  })

  test('does not depend on the order of the schemas', () => {
    expect(withSchemas({ A: {}, B: {} })).toBe(withSchemas({ B: {}, A: {} }))
  })

  test('is rejected for alternatives of another form, which would become unknown', () => {
    expect(() => withSchemas({ A: { oneOf: [{ type: 'string' }] } })).toThrow('oneOf')
  })
})

describe('an operation', () => {
  test('has its parameters, body and response, without the headers that the client sets', () => {
    const parameter = (name: string, place: string, type: object = { type: 'string' }, required = false) => ({
      ...{ name, in: place, required, description: `The ${name}.`, schema: type },
    })
    const parameters = [
      parameter('worldId', 'path', { type: 'string' }, true),
      parameter('status', 'query', { type: 'array', items: { type: 'string' } }),
      ...['If-Match', 'X-API-Key', 'x-svc-organization-id', 'x-svc-project-id'].map((name) =>
        parameter(name, 'header'),
      ),
    ]
    const patch = operation('patchWorld', {
      parameters,
      requestBody: json({ $ref: '#/components/schemas/World' }),
      responses: { 200: json({ $ref: '#/components/schemas/World' }), 404: json({ type: 'string' }) },
    })
    const text = withPaths({ '/worlds/{worldId}/': { patch } }, { World: {} })
    expect(text).toContain(`export type Operations = {
  /**
   * Do it
   *
   * At once.
   */
  patchWorld: {
    params: {
      /** The worldId. */
      worldId: string
    }
    query: {
      /** The status. */
      status?: string[]
    }
    headers: {
      /** The If-Match. */
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
    const text = withPaths({ '/a/': { post: operation('doA') } })
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

  test('has what its caller needs in the table, and nothing where nothing is needed', () => {
    const needs = { scope: 'project', verb: 'w', subtree: true }
    const text = withPaths({ '/a/': { post: operation('doA', { 'x-orrery-needs': needs }), get: operation('getA') } })
    expect(text).toContain(
      "  doA: { method: 'POST', path: '/a/', needs: { scope: 'project', verb: 'w', subtree: true } },\n",
    )
    expect(text).toContain("  getA: { method: 'GET', path: '/a/' },\n")
  })

  test('uses browser types for bytes, forms and text', () => {
    const body = (...mediaTypes: string[]) => ({
      content: Object.fromEntries(mediaTypes.map((type) => [type, { schema: {} }])),
    })
    const put = operation('putPicture', { requestBody: body('image/png', 'image/webp', 'multipart/form-data') })
    const get = operation('getLog', { responses: { 200: body('text/plain', 'text/event-stream') } })
    const text = withPaths({ '/picture/': { put, get } })
    expect(text).toContain("'content-type'?: 'image/png' | 'image/webp'\n")
    expect(text).toContain('body: Blob | Uint8Array | FormData\n')
    expect(text).toContain('answer: string\n')
    expect(text).toContain("body: ['image/png', 'image/webp', 'multipart/form-data'] }")
  })
})

test('a list whose query can name fields has the type of whole items, and beside it that of items with some fields', () => {
  const items = { anyOf: [{ $ref: '#/components/schemas/Thing' }, { $ref: '#/components/schemas/ThingFields' }] }
  const get = operation('listThings', { responses: { 200: json({ type: 'array', items }) } })
  const text = withPaths({ '/things/': { get } }, { Thing: {}, ThingFields: {} })
  expect(text).toContain('    answer: Thing[]\n    sparse: ThingFields[]\n')
})
