import { expect, test } from 'vitest'
import { slowStart } from './batches.ts'

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

/** Works the items off, and notes how many were under way together. */
const work = async (count: number, failsAt = Number.POSITIVE_INFINITY) => {
  const done: number[] = []
  const together: number[] = []
  let underWay = 0
  const fault = await slowStart(numbers(count), { most: 8 }, async (item) => {
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

test('batches double up to the bound, and everything is done once', async () => {
  const { done, together, fault } = await work(25)
  expect(together).toEqual([1, 2, 4, 8, 8, 2])
  expect(done).toEqual(numbers(25))
  expect(fault).toBeUndefined()
})

test('after a refusal no other batch begins, and it is the earliest that is told', async () => {
  const { done, together, fault } = await work(1_000, 4)
  expect(together).toEqual([1, 2, 4])
  expect(done).toEqual([0, 1, 2, 3])
  expect(fault?.error).toMatchObject({ message: 'no 4' })
})
