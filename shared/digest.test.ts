import { expect, test } from 'vitest'
import { digestOf } from './digest.ts'

test('returns equal digests for equal values only, with a fixed length', () => {
  expect(digestOf({ a: [1] })).toBe(digestOf({ a: [1] }))
  expect(digestOf({ a: [2] })).not.toBe(digestOf({ a: [1] }))
  expect(digestOf(null)).toHaveLength(43)
})
