import { expect, test } from 'vitest'
import { contentOf } from './request.ts'
import type { Operation } from './types.ts'

const taking = (...body: string[]): Operation => ({ method: 'PUT', path: '/', body })
const bytes = new Uint8Array([1, 2, 3])

/** Returns the content type and the body that `fetch` sends. */
const sent = async (operation: Operation, input: { body?: unknown; headers?: Record<string, unknown> }) => {
  const request = new Request('http://localhost/', { method: 'PUT', ...contentOf(operation, input) })
  return { type: request.headers.get('content-type'), body: new Uint8Array(await request.arrayBuffer()) }
}

test('sends bytes with the given content type, or the first for bytes that the operation accepts', async () => {
  const picture = taking('multipart/form-data', 'image/png', 'image/webp')
  expect(await sent(picture, { body: bytes })).toEqual({ type: 'image/png', body: bytes })
  expect(await sent(picture, { body: bytes, headers: { 'content-type': 'image/webp' } })).toMatchObject({
    type: 'image/webp',
  })
})

test('sends a Blob with its own content type', async () => {
  const blob = new Blob([bytes], { type: 'image/webp' })
  expect(await sent(taking('image/*'), { body: blob })).toEqual({ type: 'image/webp', body: bytes })
  expect(await sent(taking('image/png'), { body: new Blob([bytes]) })).toMatchObject({ type: 'image/png' })
})

test('sends a form with its boundary', async () => {
  const body = new FormData()
  body.set('picture', new Blob([bytes]), 'a.png')
  expect((await sent(taking('multipart/form-data'), { body })).type).toMatch(/^multipart\/form-data; boundary=/)
})

test('sends a string as JSON if the operation accepts JSON, and unchanged otherwise', async () => {
  const encode = (text: string) => new TextEncoder().encode(text)
  expect(await sent(taking('text/plain'), { body: 'a' })).toEqual({ type: 'text/plain', body: encode('a') })
  expect(await sent(taking('application/json'), { body: 'a' })).toMatchObject({ body: encode('"a"') })
})

test('sends JSON with the media type of the operation', async () => {
  const patch = taking('application/merge-patch+json')
  expect((await sent(patch, { body: { name: null } })).type).toBe('application/merge-patch+json')
})

test('omits undefined headers, and the content type without a body', async () => {
  const { headers, ...rest } = contentOf(taking('application/json'), { headers: { 'if-match': undefined } })
  expect([headers.has('if-match'), headers.has('content-type'), rest]).toEqual([false, false, {}])
})
