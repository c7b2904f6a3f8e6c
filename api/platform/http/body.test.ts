import { describe, expect, test } from 'vitest'
import { isStorable, maxJsonBytes, readBytes, readJson } from './body.ts'
import { Problem } from './problem.ts'

const aRequest = (body: string | Uint8Array<ArrayBuffer>, type = 'application/json') =>
  new Request('http://x/', { method: 'POST', body, headers: { 'content-type': type } })
const deep = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

describe('a JSON body', () => {
  test.each(['application/json', 'application/json; charset=utf-8', 'application/merge-patch+json'])(
    'is taken as %s',
    async (type) => {
      expect(await readJson(aRequest('{"a":1}', type))).toEqual({ a: 1 })
    },
  )

  test.each([
    ['of another type', '{}', 'text/plain', 'unsupported_media_type'],
    ['whose type only begins so', '{}', 'application/jsonx', 'unsupported_media_type'],
    ['that is empty', '', 'application/json', 'malformed_json'],
    ['with a byte order that is no UTF-8', new Uint8Array([0xff, 0xfe]), 'application/json', 'malformed_json'],
    ['nested 34 deep', deep(34), 'application/json', 'invalid_request'],
    ['with __proto__', '{"a":[{"__proto__":1}]}', 'application/json', 'invalid_request'],
    ['with U+0000 in a key', '{"a\\u0000":1}', 'application/json', 'invalid_request'],
    ['with half a pair', '["\\udc00"]', 'application/json', 'invalid_request'],
  ])('%s is refused', async (_, body, type, code) => {
    await expect(readJson(aRequest(body, type))).rejects.toMatchObject({ code })
  })

  test('nested 33 deep is taken', async () => {
    expect(await readJson(aRequest(deep(33)))).toEqual(JSON.parse(deep(33)))
  })

  test('has every refused part named at its place', async () => {
    const body = '{"a/b":{"constructor":1},"c":["\\u0000"]}'
    await expect(readJson(aRequest(body))).rejects.toMatchObject({
      errors: [{ path: '/a~1b/constructor' }, { path: '/c/0' }],
    })
  })
})

describe('the faults of a JSON body', () => {
  const faultsOf = async (body: string) => {
    const problem = await readJson(aRequest(body)).catch((error: unknown) => error)
    if (!(problem instanceof Problem)) throw new Error('the body was accepted')
    return { detail: problem.message, errors: problem.errors ?? [] }
  }
  const half = '"\\ud800"'

  test('are counted, and the first 32 listed', async () => {
    const { detail, errors } = await faultsOf(`[${Array(1_000).fill(half).join()}]`)
    expect(detail).toBe('The request has 1000 validation errors. The first 32 are listed.')
    expect(errors).toHaveLength(32)
  })

  test('have pointers of at most 256 characters', async () => {
    const { errors } = await faultsOf(`{"${'k'.repeat(5_000)}":{"${'~'.repeat(300)}":${half}}}`)
    expect(errors.map(({ path }) => path.length)).toEqual([256])
  })
})

describe('the number of values in a JSON body', () => {
  const numbers = (count: number): string => `[${Array(count).fill('0').join()}]`

  test('is refused above the limit with a 413 that names the limit, however the values are spelled', async () => {
    const bodies = [numbers(8), '[[[[[[[[[]]]]]]]]]', '{"a":{"b":[1,2]},"c":[{"d":1},"f"]}']
    for (const body of bodies) {
      const refusal = expect(readJson(aRequest(body), { maxValues: 8 })).rejects
      await refusal.toMatchObject({ code: 'body_too_large', message: expect.stringContaining('8') })
      expect(await readJson(aRequest(body), { maxValues: 9 })).toEqual(JSON.parse(body))
    }
  })

  test('counts nothing inside texts, and an empty array or object once', async () => {
    const body = '["a,b[{,\\",\\\\",[],{},"\\\\\\",,"]'
    expect(await readJson(aRequest(body), { maxValues: 5 })).toEqual(JSON.parse(body))
  })

  test('is refused in a body of 1 MiB of small values before it is parsed', async () => {
    const body = numbers(maxJsonBytes / 2 - 1)
    await expect(readJson(aRequest(body))).rejects.toMatchObject({ code: 'body_too_large' })
  })
})

test('a body is read up to its limit and not one byte further', async () => {
  expect(await readBytes(aRequest('abcd'), 4)).toEqual(Buffer.from('abcd'))
  await expect(readBytes(aRequest('abcde'), 4)).rejects.toMatchObject({ code: 'body_too_large' })
})

test.each([
  ['', true],
  ['🌍', true],
  ['a\0', false],
  ['\ud800', false],
])('%j can be kept: %s', (text, kept) => {
  expect(isStorable(text)).toBe(kept)
})
