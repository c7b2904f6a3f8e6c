import { describe, expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createBudget } from '../fairness/budget.ts'
import { maxJsonBytes, readBytes, readJson } from './body.ts'
import { Problem } from './problem.ts'

const aRequest = (body: string | Uint8Array<ArrayBuffer>, type = 'application/json') =>
  new Request('http://x/', { method: 'POST', body, headers: { 'content-type': type } })
const noLimit = {
  group: undefined,
  hold: () => undefined,
  available: () => Number.POSITIVE_INFINITY,
  keep: () => undefined,
  end: () => undefined,
}
const reader = { lease: noLimit, clock: createFakeClock() }
const deep = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

describe('a JSON body', () => {
  test.each(['application/json', 'application/json; charset=utf-8', 'application/merge-patch+json'])(
    'is accepted as %s',
    async (type) => {
      expect(await readJson(aRequest('{"a":1}', type), reader)).toEqual({ a: 1 })
    },
  )

  test.each([
    ['of another type', '{}', 'text/plain', 'unsupported_media_type'],
    ['of a type that only starts with application/json', '{}', 'application/jsonx', 'unsupported_media_type'],
    ['that is empty', '', 'application/json', 'malformed_json'],
    ['with bytes that are not UTF-8', new Uint8Array([0xff, 0xfe]), 'application/json', 'malformed_json'],
    ['nested 34 deep', deep(34), 'application/json', 'invalid_request'],
    ['with __proto__', '{"a":[{"__proto__":1}]}', 'application/json', 'invalid_request'],
    ['with U+0000 in a key', '{"a\\u0000":1}', 'application/json', 'invalid_request'],
    ['with half of a surrogate pair', '["\\udc00"]', 'application/json', 'invalid_request'],
    ['that is a number beyond those of a double', '1e400', 'application/json', 'invalid_request'],
  ])('%s is rejected', async (_, body, type, code) => {
    await expect(readJson(aRequest(body, type), reader)).rejects.toMatchObject({ code })
  })

  test('nested 33 deep is accepted', async () => {
    expect(await readJson(aRequest(deep(33)), reader)).toEqual(JSON.parse(deep(33)))
  })

  test('is rejected with the path of every invalid part', async () => {
    const body = '{"a/b":{"constructor":1},"c":["\\u0000"]}'
    await expect(readJson(aRequest(body), reader)).rejects.toMatchObject({
      errors: [{ path: '/a~1b/constructor' }, { path: '/c/0' }],
    })
  })

  test('is rejected with the path of each number beyond those of a double', async () => {
    const message = 'must be a number between -1.7976931348623157e+308 and 1.7976931348623157e+308'
    const digits = '9'.repeat(400)
    await expect(readJson(aRequest(`{"a":[1,{"b":-1e400}],"c":${digits},"d":1e308}`), reader)).rejects.toMatchObject({
      errors: [
        { path: '/a/1/b', message },
        { path: '/c', message },
      ],
    })
  })
})

describe('the errors of a JSON body', () => {
  const faultsOf = async (body: string) => {
    const problem = await readJson(aRequest(body), reader).catch((error: unknown) => error)
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

  test('above the limit is rejected with a 413 that names the limit, for arrays, objects and nesting', async () => {
    const bodies = [numbers(8), '[[[[[[[[[]]]]]]]]]', '{"a":{"b":[1,2]},"c":[{"d":1},"f"]}']
    for (const body of bodies) {
      const refusal = expect(readJson(aRequest(body), reader, { maxValues: 8 })).rejects
      await refusal.toMatchObject({ code: 'body_too_large', message: expect.stringContaining('8') })
      expect(await readJson(aRequest(body), reader, { maxValues: 9 })).toEqual(JSON.parse(body))
    }
  })

  test('excludes the content of strings and counts an empty array or object once', async () => {
    const body = '["a,b[{,\\",\\\\",[],{},"\\\\\\",,"]'
    expect(await readJson(aRequest(body), reader, { maxValues: 5 })).toEqual(JSON.parse(body))
  })

  test('is checked before a body of 1 MiB is parsed', async () => {
    const body = numbers(maxJsonBytes / 2 - 1)
    await expect(readJson(aRequest(body), reader)).rejects.toMatchObject({ code: 'body_too_large' })
  })
})

test('reads a body up to its limit and rejects one more byte', async () => {
  expect(await readBytes(aRequest('abcd'), 4, reader)).toEqual(Buffer.from('abcd'))
  await expect(readBytes(aRequest('abcde'), 4, reader)).rejects.toMatchObject({ code: 'body_too_large' })
})

describe('a body that does not fit in the budget', () => {
  const mebibyte = 1024 * 1024
  const someReader = (limits: { total: number; perGroup: number }) => ({
    lease: createBudget({ ...limits, free: 4 }).open('a'),
    clock: createFakeClock(),
  })

  test('is refused: 429 if its organization holds too much, and 503 if the process does', async () => {
    const group = someReader({ total: mebibyte, perGroup: 5 })
    expect(await readBytes(aRequest('123456789'), 10, group)).toHaveLength(9)
    const refused = { code: 'rate_limited', headers: { 'retry-after': '2' } }
    await expect(readBytes(aRequest('1234567890'), 10, group)).rejects.toMatchObject(refused)
    const process = someReader({ total: 5, perGroup: mebibyte })
    await expect(readBytes(aRequest('1234567890'), 10, process)).rejects.toMatchObject({ code: 'unavailable' })
  })

  test('holds at most twice what has arrived, whatever its Content-Length', async () => {
    const { open, heldBytes } = createBudget({ total: 100 * mebibyte, perGroup: 16 * mebibyte, free: 0 })
    const arrived = Array.from({ length: 3 }, () => new Uint8Array(1_000))
    const body = new ReadableStream({ pull: (controller) => controller.enqueue(arrived.pop()) }, { highWaterMark: 0 })
    const headers = { 'content-length': String(10 * mebibyte) }
    const request = new Request('http://x/', { method: 'POST', body, headers, duplex: 'half' } as RequestInit)
    const reading = readBytes(request, 10 * mebibyte, { lease: open('a'), clock: createFakeClock() })
    await expect(reading).rejects.toThrow()
    expect(heldBytes()).toBe(4_000)
  })

  test('is refused before it is read if it has a Content-Length', async () => {
    let isRead = false
    const pull = (): void => {
      isRead = true
    }
    const body = new ReadableStream({ pull }, { highWaterMark: 0 })
    const headers = { 'content-length': '1000' }
    const request = new Request('http://x/', { method: 'POST', body, headers, duplex: 'half' } as RequestInit)
    const reading = readBytes(request, mebibyte, someReader({ total: 100, perGroup: 100 }))
    await expect(reading).rejects.toMatchObject({ code: 'rate_limited' })
    expect(isRead).toBe(false)
  })
})

describe('a slow body', () => {
  const aStream = () => {
    let push: (bytes: number) => void = () => undefined
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => {
        push = (bytes) => (bytes === 0 ? controller.close() : controller.enqueue(new Uint8Array(bytes)))
      },
    })
    const request = new Request('http://x/', { method: 'POST', body, duplex: 'half' } as RequestInit)
    return { request, push: (bytes: number) => push(bytes) }
  }

  test('is refused with 408 when it drips below 1 KiB per second after 5 seconds', async () => {
    const clock = createFakeClock()
    const { request, push } = aStream()
    const reading = readBytes(request, 1_000_000, { lease: noLimit, clock })
    const refused = expect(reading).rejects.toMatchObject({ code: 'body_too_slow', status: 408 })
    for (let second = 0; second < 6; second += 1) {
      push(10)
      await new Promise(setImmediate)
      clock.advance(1_000)
    }
    await refused
  })

  test('is refused with 408 when it stops, however fast it was before', async () => {
    const clock = createFakeClock()
    const { request, push } = aStream()
    const reading = readBytes(request, 1_000_000, { lease: noLimit, clock })
    const refused = expect(reading).rejects.toMatchObject({ code: 'body_too_slow' })
    push(900_000)
    for (let second = 0; second < 11; second += 1) {
      await new Promise(setImmediate)
      clock.advance(1_000)
    }
    await refused
  })

  test('is read as long as it keeps the rate', async () => {
    const clock = createFakeClock()
    const { request, push } = aStream()
    const reading = readBytes(request, 1_000_000, { lease: noLimit, clock })
    for (let second = 0; second < 20; second += 1) {
      push(1_100)
      await new Promise(setImmediate)
      clock.advance(1_000)
    }
    push(0)
    expect((await reading).length).toBe(22_000)
  })
})
