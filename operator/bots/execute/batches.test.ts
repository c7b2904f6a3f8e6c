import { expect, test } from 'vitest'
import { runInBatches } from './batches.ts'

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

/** Runs a number of items and counts how many run together. */
const work = async (count: number, { failsAt = Number.POSITIVE_INFINITY, mayContinue = (): boolean => true } = {}) => {
  const done: number[] = []
  const together: number[] = []
  let underWay = 0
  const fault = await runInBatches(numbers(count), { max: 8, mayContinue }, async (item) => {
    underWay += 1
    const mine = underWay
    await Promise.resolve()
    if (mine === 1) together.push(underWay)
    underWay -= 1
    if (item >= failsAt) throw new Error(`no ${item}`)
    done.push(item)
  })
  return { done, together, fault }
}

test('doubles batches up to the maximum and runs each item once', async () => {
  const { done, together, fault } = await work(25)
  expect(together).toEqual([1, 2, 4, 8, 8, 2])
  expect(done).toEqual(numbers(25))
  expect(fault).toBeUndefined()
})

test('begins no batch after a failure and returns the earliest one', async () => {
  const { done, together, fault } = await work(1_000, { failsAt: 4 })
  expect(together).toEqual([1, 2, 4])
  expect(done).toEqual([0, 1, 2, 3])
  expect(fault?.error).toMatchObject({ message: 'no 4' })
})

test('starts no batch after its time limit, without a failure', async () => {
  let turns = 3
  const { done, fault } = await work(1_000, { mayContinue: () => turns-- > 0 })
  expect(done).toEqual(numbers(7))
  expect(fault).toBeUndefined()
})
