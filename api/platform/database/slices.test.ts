import fc from 'fast-check'
import { expect, test } from 'vitest'
import { countFitting, cutIntoSlices } from './slices.ts'

const sum = (sizes: readonly number[]): number => sizes.reduce((all, each) => all + each, 0)

test('takes as many rows as fit, and at least one', () => {
  expect([[], [10, 10, 10], [30, 80], [500, 1]].map((sizes) => countFitting(sizes, 100))).toEqual([0, 3, 1, 1])
  fc.assert(
    fc.property(fc.array(fc.nat(60), { minLength: 1, maxLength: 30 }), fc.nat(200), (sizes, maxBytes) => {
      const count = countFitting(sizes, maxBytes)
      expect(count).toBeGreaterThan(0)
      expect(count === 1 || sum(sizes.slice(0, count)) <= maxBytes).toBe(true)
      if (count < sizes.length) expect(sum(sizes.slice(0, count + 1))).toBeGreaterThan(maxBytes)
    }),
  )
})

test('cuts all rows into slices of limited size', () => {
  expect(cutIntoSlices([30, 30, 10, 30, 1, 90], 40)).toEqual([1, 2, 2, 1])
  fc.assert(
    fc.property(fc.array(fc.nat(60), { maxLength: 30 }), fc.integer({ min: 1, max: 80 }), (sizes, sliceBytes) => {
      const slices = cutIntoSlices(sizes, sliceBytes)
      expect(sum(slices)).toBe(sizes.length)
      let at = 0
      for (const rows of slices) {
        expect(rows === 1 || sum(sizes.slice(at, at + rows)) <= sliceBytes).toBe(true)
        at += rows
      }
    }),
  )
})
