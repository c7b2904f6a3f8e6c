import { expect, test } from 'vitest'
import { isStorable } from './storable.ts'

test.each([
  ['', true],
  ['🌍', true],
  ['a\0', false],
  ['\ud800', false],
])('isStorable(%j) is %s', (text, kept) => {
  expect(isStorable(text)).toBe(kept)
})
