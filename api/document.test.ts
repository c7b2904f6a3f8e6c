import { expect, test } from 'vitest'
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

test('names the server, and describes realtime in both documents', () => {
  expect(documents.OpenAPI.servers).toEqual([{ url, description: expect.any(String) }])
  expect(Object.keys(documents.OpenAPI.paths)).toContain('/api/realtime/connect/')
  expect(documents.AsyncAPI).toMatchObject({
    asyncapi: '3.0.0',
    servers: { api: { host: 'api.example', protocol: 'wss' } },
    channels: { realtime: { address: '/api/realtime/connect/' } },
  })
})
