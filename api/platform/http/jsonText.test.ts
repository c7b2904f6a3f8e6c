import fc from 'fast-check'
import { expect, test } from 'vitest'
import { toJsonText } from './jsonText.ts'

test('returns the same text as JSON.stringify', async () => {
  const values = fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue()), fc.record({ worlds: fc.array(fc.jsonValue()) }))
  const property = fc.asyncProperty(values, async (value) => {
    expect(await toJsonText(value)).toBe(JSON.stringify(value))
  })
  await fc.assert(property)
  const holes = { absent: undefined, items: [undefined, { at: new Date(0) }] }
  expect(await toJsonText(holes)).toBe(JSON.stringify(holes))
})

test('lets others take turns while it converts a large array', async () => {
  const items = Array.from({ length: 8 }, () => 'x'.repeat(256 * 1024))
  let turns = 0
  const count = (): void => {
    turns += 1
    timer = setImmediate(count)
  }
  let timer = setImmediate(count)
  await toJsonText(items)
  clearImmediate(timer)
  expect(turns).toBeGreaterThan(2)
})
