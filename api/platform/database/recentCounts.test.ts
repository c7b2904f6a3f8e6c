import { expect, test } from 'vitest'
import { createRecentCounts } from './recentCounts.ts'

const aMemory = () => {
  let nowMs = 0
  let counted = 0
  const recent = createRecentCounts({ monotonic: () => nowMs })
  return {
    read: (name: unknown) => recent([name], async () => (counted += 1)),
    fail: (name: unknown) => recent([name], () => Promise.reject(new Error('refused'))),
    pass: (ms: number) => {
      nowMs += ms
    },
  }
}

test('counts once in 5 seconds for each name', async () => {
  const { read, pass } = aMemory()
  expect(await Promise.all([read('a'), read('a'), read('b')])).toEqual([1, 1, 2])
  pass(4_999)
  expect(await read('a')).toBe(1)
  pass(1)
  expect(await read('a')).toBe(3)
})

test('counts again after a failure', async () => {
  const { read, fail } = aMemory()
  await expect(fail('a')).rejects.toThrow('refused')
  expect(await read('a')).toBe(1)
})

test('forgets the oldest of more than 1,000 names', async () => {
  const { read } = aMemory()
  for (let name = 0; name <= 1_000; name += 1) await read(name)
  expect(await read(1_000)).toBe(1_001)
  expect(await read(0)).toBe(1_002)
})
