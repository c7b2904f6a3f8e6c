import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { isTimed } from '#test/support/timing.ts'
import { createTextSharing } from './texts.ts'

test('returns the object with equal texts', () => {
  const share = createTextSharing(2)
  const object = {
    name: 'the-name-of-an-object',
    list: ['the-name-of-an-object', { deep: 'another-long-text' }, null, 7, true],
    nothing: null,
    map: { 'a/key': 'a-third-long-text', short: 'a' },
  }
  for (let round = 0; round < 3; round += 1) expect(share(structuredClone(object))).toEqual(object)
  expect(share(undefined)).toBeUndefined()
  expect(share('a-text-without-an-object')).toBe('a-text-without-an-object')
})

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

/** Returns the bytes of the heap by which the result of an action and what it remembers are larger. */
const heapOf = <T>(act: () => T): number => {
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  const result = act()
  collectGarbage()
  const grownBy = process.memoryUsage().heapUsed - before
  expect(result).toBeDefined()
  return grownBy
}

if (isTimed) {
  test('keeps one copy of the texts that objects have in common', () => {
    const json = JSON.stringify(Array.from({ length: 40 }, (_, index) => `${index}-`.padEnd(200, 'x')))
    const bytesOf = (share: <T>(value: T) => T) =>
      heapOf(() => Array.from({ length: 2_000 }, () => share(JSON.parse(json))))
    expect(bytesOf(createTextSharing())).toBeLessThan(bytesOf((value) => value) / 4)
  })

  test('remembers no long texts, so that those of one tenant do not fill the memory', () => {
    const share = createTextSharing()
    const textBytes = 10_000
    const texts = 2_000
    const bytes = heapOf(() => {
      for (let at = 0; at < texts; at += 1) share({ text: Buffer.alloc(textBytes, `${at} `).toString('latin1') })
      return share
    })
    expect(bytes).toBeLessThan((texts * textBytes) / 4)
  })
}
