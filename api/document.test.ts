import { describe, expect, test } from 'vitest'
import { type ApiDocument, createValidation } from '#test/support/documented.ts'
import { apiDocument } from './document.ts'
import { asyncApiDocument } from './realtime/asyncApi.ts'

type Json = { [key: string]: unknown }
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null

const url = 'https://api.example'
const documents = { OpenAPI: apiDocument(url), AsyncAPI: asyncApiDocument(url) }

/** Calls back for every object of a document, with the steps to it. Examples are values, not parts of the document. */
const walk = (node: unknown, visit: (node: Json, at: string) => void, at = ''): void => {
  if (!isObject(node)) return
  if (!Array.isArray(node)) visit(node, at)
  for (const [key, inner] of Object.entries(node)) {
    if (!['examples', 'example', 'default'].includes(key)) walk(inner, visit, `${at}/${key}`)
  }
}

const isDescribed = ({ description }: Json): boolean => typeof description === 'string' && description.length >= 10

test.each(Object.entries(documents))('every property of the %s document has a description', (_, document) => {
  const missing: string[] = []
  walk(document, ({ properties, type, anyOf }, at) => {
    if (!isObject(properties) || (type !== 'object' && anyOf === undefined)) return
    for (const [name, each] of Object.entries(properties)) {
      if (isObject(each) && !isDescribed(each)) missing.push(`${at}/properties/${name}`)
    }
  })
  expect(missing).toEqual([])
})

test('every operation and every parameter has a description, and every body an example', () => {
  const missing: string[] = []
  for (const [path, item] of Object.entries(documents.OpenAPI.paths)) {
    for (const [method, operation] of Object.entries(item) as [string, Json][]) {
      const at = `${method} ${path}`
      if (!isDescribed(operation)) missing.push(at)
      for (const parameter of operation.parameters as Json[]) {
        if (!isDescribed(parameter)) missing.push(`${at} ${String(parameter.name)}`)
      }
      const { content = {} } = (operation.requestBody ?? {}) as { content?: Record<string, Json> }
      if (content['application/json'] && !content['application/json'].examples) missing.push(`${at} body`)
    }
  }
  expect(missing).toEqual([])
})

test.each(Object.entries(documents))('every reference of the %s document leads to a part of it', (_, document) => {
  const dangling: string[] = []
  walk(document, ({ $ref }) => {
    if (typeof $ref !== 'string') return
    const steps = $ref
      .replace(/^#\//, '')
      .split('/')
      .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    const target = steps.reduce<unknown>((node, step) => (isObject(node) ? node[step] : undefined), document)
    if (target === undefined) dangling.push($ref)
  })
  expect(dangling).toEqual([])
})

describe('generators of clients can read the document:', () => {
  const schemas = Object.entries(documents.OpenAPI.components.schemas)

  test('a property has a type other than null alone, and no default beside a reference', () => {
    const wrong: string[] = []
    walk(documents.OpenAPI, ({ properties, $ref, ...beside }, at) => {
      if ($ref !== undefined && 'default' in beside) wrong.push(at)
      for (const [name, each] of Object.entries(isObject(properties) ? properties : {})) {
        if (isObject(each) && each.type === 'null') wrong.push(`${at}/properties/${name}`)
      }
    })
    expect(wrong).toEqual([])
  })

  test('every object with properties is a component, except a form', () => {
    const unnamed: string[] = []
    for (const [name, schema] of schemas) {
      walk(schema, ({ type, properties }, at) => {
        if (at !== '' && type === 'object' && isObject(properties)) unnamed.push(`${name}${at}`)
      })
    }
    expect(unnamed).toEqual([])
  })

  test('the examples of every component are valid', () => {
    const fault = createValidation(documents.OpenAPI as ApiDocument)
    const wrong = schemas.flatMap(([name, { examples }]) =>
      [examples].flat().flatMap((example) => fault(['components', 'schemas', name], example) ?? []),
    )
    expect(wrong).toEqual([])
  })

  test('the configuration of scaling accepts null and nothing else', () => {
    const fault = createValidation(documents.OpenAPI as ApiDocument)
    const at = ['components', 'schemas', 'CreateWorldNetworkingScaling', 'properties', 'configuration']
    expect(fault(at, null)).toBeUndefined()
    for (const value of [{}, '', 0, false, []]) expect(fault(at, value)).toBeDefined()
  })
})

test('names the server, and describes realtime in both documents', () => {
  expect(documents.OpenAPI.servers).toEqual([{ url, description: expect.any(String) }])
  expect(Object.keys(documents.OpenAPI.paths)).toContain('/api/realtime/connect/')
  expect(documents.AsyncAPI).toMatchObject({
    asyncapi: '3.0.0',
    servers: { api: { host: 'api.example', protocol: 'wss' } },
    channels: { realtime: { address: '/api/realtime/connect/' } },
  })
})
