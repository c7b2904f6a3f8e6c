import bs58 from 'bs58'
import { expect, test } from 'vitest'
import { fc } from '#test/support/fastCheck.ts'
import { decodeBase58 } from './base58.ts'

test('decodes every byte sequence to its original, including leading zeros', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat({ max: 8 }), (bytes, zeros) => {
      const given = Uint8Array.from([...new Uint8Array(zeros), ...bytes])
      expect(decodeBase58(bs58.encode(given))).toEqual(Buffer.from(given))
    }),
  )
})

test('returns undefined for text with other characters and never throws', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (text) => {
      const isBase58 = /^[1-9A-HJ-NP-Za-km-z]*$/.test(text)
      expect(decodeBase58(text) === undefined).toBe(!isBase58)
    }),
  )
})
