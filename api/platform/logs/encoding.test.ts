import { expect, test } from 'vitest'
import { eventEncoding, textEncoding } from './encoding.ts'

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const bytes = (value: string): Uint8Array => new TextEncoder().encode(value)
const encodeAll = (...chunks: (string | Uint8Array)[]): string => {
  const encoding = eventEncoding()
  const parts = chunks.map((chunk) => text(encoding.encode(typeof chunk === 'string' ? bytes(chunk) : chunk)))
  return parts.join('') + text(encoding.finish('End'))
}
const last = 'event: end\ndata: {"reason":"End"}\n\n'

/** Parses an event stream as browsers do (WHATWG HTML, 9.2.6). */
const parse = (stream: string): { event: string; data: string }[] =>
  stream
    .split(/(?:\r\n|\n|\r){2}/)
    .filter((block) => block !== '')
    .map((block) => {
      const fields = block.split(/\r\n|\n|\r/).map((line) => /^([^:]*):? ?(.*)$/s.exec(line) ?? [])
      const valuesOf = (name: string) => fields.filter((field) => field[1] === name).map((field) => field[2] ?? '')
      return { event: valuesOf('event').at(-1) ?? 'message', data: valuesOf('data').join('\n') }
    })

test('text is sent as it is', () => {
  const chunk = bytes('a\u0000b\r\n')
  expect(textEncoding().encode(chunk)).toBe(chunk)
})

test('each line is one event, wherever the chunks are cut', () => {
  expect(encodeAll('one\ntwo\n', 'thr', 'ee\r', '\nfour')).toBe(
    `data: one\n\ndata: two\n\ndata: three\n\ndata: four\n\n${last}`,
  )
})

test.each([
  'a\revent: end\rdata: forged\r\r',
  'a\n\nevent: end\n\n',
  'a\r\n\r\nid: 7\r\n',
  '\revent: end',
  ': comment\n',
  'retry: 1\n',
])('no line of a log can add an event or a field: %j', (line) => {
  for (const chunks of [[line], [...line]]) {
    const events = parse(encodeAll(...chunks))
    expect(events.slice(0, -1).every(({ event }) => event === 'message')).toBe(true)
    expect(events.at(-1)).toEqual({ event: 'end', data: '{"reason":"End"}' })
  }
})

test('characters that chunks cut are put together, and invalid bytes are replaced', () => {
  const star = bytes('★')
  expect(encodeAll(star.slice(0, 1), star.slice(1), '\n')).toBe(`data: ★\n\n${last}`)
  expect(encodeAll(new Uint8Array([0xff, 0x0a]))).toBe(`data: \ufffd\n\n${last}`)
})

test('a line of any length is split into events of at most 16,384 characters, and is not held in memory', () => {
  const encoding = eventEncoding()
  const first = text(encoding.encode(bytes('🌍'.repeat(40_000))))
  expect(first.length).toBeGreaterThan(60_000)
  const events = parse(first + text(encoding.finish('End')))
  expect(Math.max(...events.map(({ data }) => [...data].length))).toBe(16_384)
  expect(
    events
      .slice(0, -1)
      .map(({ data }) => data)
      .join(''),
  ).toBe('🌍'.repeat(40_000))
})
