import { expect, test } from 'vitest'
import { fc } from '#test/support/fastCheck.ts'
import { fingerprintOf, isApiKey, newApiKey } from './apiKey.ts'

const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((each) => Buffer.from(each))

test('accepts every new key, for any random bits', () => {
  fc.assert(fc.property(bytes, (random) => isApiKey(newApiKey(() => random))))
  expect(isApiKey(newApiKey(() => Buffer.alloc(32)))).toBe(true)
})

test('rejects a key with one changed character', () => {
  fc.assert(
    fc.property(bytes, fc.nat(), fc.constantFrom(...'123ABCabcz0OIl_ '), (random, at, other) => {
      const key = newApiKey(() => random)
      const place = at % key.length
      fc.pre(key[place] !== other)
      expect(isApiKey(key.slice(0, place) + other + key.slice(place + 1))).toBe(false)
    }),
  )
})

test('derives the fingerprint from the key and the pepper', () => {
  const key = newApiKey(() => Buffer.alloc(32, 7))
  expect(fingerprintOf(key, 'p')).toBe(fingerprintOf(key, 'p'))
  expect(fingerprintOf(key, 'p')).not.toBe(fingerprintOf(key, 'q'))
  expect(fingerprintOf(`${key}x`, 'p')).not.toBe(fingerprintOf(key, 'p'))
})
