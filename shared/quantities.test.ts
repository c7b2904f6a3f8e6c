import { expect, test } from 'vitest'
import { toNumber } from './quantities.ts'

test.each([
  ['0', 0],
  ['250m', 0.25],
  ['2500000n', 0.0025],
  ['2500u', 0.0025],
  ['1.5', 1.5],
  ['1k', 1_000],
  ['4Gi', 4 * 2 ** 30],
  ['4Ti', 4 * 2 ** 40],
  ['1e3', 1_000],
  ['12E-1', 1.2],
  ['1E', 1e18],
  ['much', Number.NaN],
  ['', Number.NaN],
  ['4gi', Number.NaN],
])('the quantity %j has the value %d', (quantity, value) => {
  expect(toNumber(quantity)).toBe(value)
})
