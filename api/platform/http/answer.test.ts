import { expect, test } from 'vitest'
import { answer } from './answer.ts'

const c = { get: () => ({ 'x-request-id': 'one' }), req: { method: 'GET' } }
const sliceBytes = 64 * 1024

test.each([
  ['text', 'é'.repeat(100_000)],
  ['bytes', Buffer.alloc(200_000, 'a')],
])('sends large %s in slices of 64 KiB, one at a time, with its length', async (_, body) => {
  const response = answer(c, body, { headers: { 'content-type': 'text/plain' } })
  expect(Object.fromEntries(response.headers)).toEqual({
    'x-request-id': 'one',
    'content-type': 'text/plain',
    'content-length': '200000',
  })
  const slices: Uint8Array[] = []
  for await (const slice of response.body ?? []) slices.push(slice as Uint8Array)
  expect(slices.map(({ length }) => length)).toEqual([sliceBytes, sliceBytes, sliceBytes, 200_000 - 3 * sliceBytes])
  expect(Buffer.concat(slices).equals(Buffer.from(body))).toBe(true)
})

test.each([
  ['text', 'é'.repeat(3), '6'],
  ['large text', 'é'.repeat(100_000), '200000'],
  ['bytes', Buffer.alloc(200_000), '200000'],
])('answers a HEAD with the length of %s, and no body', (_, body, length) => {
  const response = answer({ ...c, req: { method: 'HEAD' } }, body)
  expect(response.headers.get('content-length')).toBe(length)
  expect(response.body).toBeNull()
})

test('shares the bytes of a body between its responses', async () => {
  const body = Buffer.alloc(2 * sliceBytes)
  for (let at = 0; at < 2; at += 1) {
    const { value } = (await answer(c, body).body?.getReader().read()) ?? {}
    expect(value?.buffer).toBe(body.buffer)
  }
})
