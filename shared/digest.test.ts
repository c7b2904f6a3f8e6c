import { expect, test } from 'vitest'
import { digestOf } from './digest.ts'

test('equal values have one digest, others another, and all are of one length', () => {
  expect(digestOf({ a: [1] })).toBe(digestOf({ a: [1] }))
  expect(digestOf({ a: [2] })).not.toBe(digestOf({ a: [1] }))
  expect(digestOf(null)).toHaveLength(43)
})
