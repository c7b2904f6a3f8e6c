import { expect, test } from 'vitest'
import { fc } from '#test/support/fastCheck.ts'
import { formatTraceparent, parseTraceparent } from './traceparent.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'

test('reads the ids and the sampled flag', () => {
  expect(parseTraceparent(`00-${traceId}-${spanId}-01`)).toEqual({ traceId, spanId, isSampled: true })
  expect(parseTraceparent(`00-${traceId}-${spanId}-00`)).toEqual({ traceId, spanId, isSampled: false })
  expect(parseTraceparent(`00-${traceId}-${spanId}-03`)?.isSampled).toBe(true)
})

test('reads the known fields of a later version', () => {
  expect(parseTraceparent(`cc-${traceId}-${spanId}-01-what-follows`)).toEqual({ traceId, spanId, isSampled: true })
})

test.each([
  ['nothing', undefined],
  ['an empty text', ''],
  ['the reserved version', `ff-${traceId}-${spanId}-01`],
  ['a trace id of zeros', `00-${'0'.repeat(32)}-${spanId}-01`],
  ['a span id of zeros', `00-${traceId}-${'0'.repeat(16)}-01`],
  ['capital letters', `00-${traceId.toUpperCase()}-${spanId}-01`],
  ['more fields in version 00', `00-${traceId}-${spanId}-01-more`],
  ['a line break at the end', `00-${traceId}-${spanId}-01\n`],
  ['a later version of more than 256 characters', `cc-${traceId}-${spanId}-01-${'a'.repeat(256)}`],
  ['two headers joined by a comma', `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`],
])('refuses %s', (_, text) => {
  expect(parseTraceparent(text)).toBeUndefined()
})

test('a span that is written is read as the same span, and any other text is refused or is one', () => {
  const hex = (length: number) =>
    fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`)).filter((text) => /[^0]/.test(text))
  fc.assert(
    fc.property(fc.record({ traceId: hex(32), spanId: hex(16), isSampled: fc.boolean() }), (span) => {
      expect(parseTraceparent(formatTraceparent(span))).toEqual(span)
    }),
  )
  fc.assert(
    fc.property(fc.string({ maxLength: 400 }), (text) => {
      expect(parseTraceparent(text)).toBeUndefined()
    }),
  )
})
