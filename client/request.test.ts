import { expect, test } from 'vitest'
import { contentOf } from './request.ts'
import type { Operation } from './types.ts'

const taking = (...body: string[]): Operation => ({ method: 'PUT', path: '/', body })
const bytes = new Uint8Array([1, 2, 3])

/** What `fetch` sends. */
const sent = async (operation: Operation, input: { body?: unknown; headers?: Record<string, unknown> }) => {
  const request = new Request('http://localhost/', { method: 'PUT', ...contentOf(operation, input) })
  return { type: request.headers.get('content-type'), body: new Uint8Array(await request.arrayBuffer()) }
}

test('bytes are sent as they are, as the type that is named, or else the first that the operation takes', async () => {
  const picture = taking('image/png', 'image/webp')
  expect(await sent(picture, { body: bytes })).toEqual({ type: 'image/png', body: bytes })
  expect(await sent(picture, { body: bytes, headers: { 'content-type': 'image/webp' } })).toMatchObject({
    type: 'image/webp',
  })
})

test('a Blob is sent as the type that it has', async () => {
  const blob = new Blob([bytes], { type: 'image/webp' })
  expect(await sent(taking('image/*'), { body: blob })).toEqual({ type: 'image/webp', body: bytes })
  expect(await sent(taking('image/png'), { body: new Blob([bytes]) })).toMatchObject({ type: 'image/png' })
})

test('a form is sent with its boundary', async () => {
  const body = new FormData()
  body.set('picture', new Blob([bytes]), 'a.png')
  expect((await sent(taking('multipart/form-data'), { body })).type).toMatch(/^multipart\/form-data; boundary=/)
})

test('text is sent as it is where the operation takes no JSON, and as JSON where it does', async () => {
  const encode = (text: string) => new TextEncoder().encode(text)
  expect(await sent(taking('text/plain'), { body: 'a' })).toEqual({ type: 'text/plain', body: encode('a') })
  expect(await sent(taking('application/json'), { body: 'a' })).toMatchObject({ body: encode('"a"') })
})

test('JSON is sent as the type that the operation names', async () => {
  const patch = taking('application/merge-patch+json')
  expect((await sent(patch, { body: { name: null } })).type).toBe('application/merge-patch+json')
})

test('a header that is undefined is left out, and no body has no type', async () => {
  const { headers, ...rest } = contentOf(taking('application/json'), { headers: { 'if-match': undefined } })
  expect([headers.has('if-match'), headers.has('content-type'), rest]).toEqual([false, false, {}])
})
