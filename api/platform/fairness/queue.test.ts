import { expect, test } from 'vitest'
import { createFairQueue } from './queue.ts'

const aQueue = (...items: string[]) => {
  const queue = createFairQueue((item: string) => item.slice(0, 1))
  for (const item of items) queue.add(item)
  return queue
}

test('takes one item of each group in turn', () => {
  const queue = aQueue('a1', 'a2', 'a3', 'b1', 'c1', 'c2')
  expect(queue.take(4)).toEqual(['a1', 'b1', 'c1', 'a2'])
  queue.add('b2')
  expect(queue.take(9)).toEqual(['c2', 'a3', 'b2'])
  expect(queue.isEmpty).toBe(true)
})

test('holds an item once, and again after it was taken', () => {
  const queue = aQueue('a1', 'a1', 'b1')
  expect(queue.take(1)).toEqual(['a1'])
  queue.add('a1')
  expect(queue.take(9)).toEqual(['b1', 'a1'])
})

test('takes items that were put back first, so that a group whose item had no room is next', () => {
  const queue = aQueue('a1', 'a2', 'a3', 'b1', 'c1')
  const [, ...remaining] = queue.take(3)
  expect(remaining).toEqual(['b1', 'c1'])
  queue.putBack(remaining)
  expect(queue.take(4)).toEqual(['b1', 'c1', 'a2', 'a3'])
})

test('keeps the turn of a group that adds items', () => {
  const queue = aQueue('a1', 'b1')
  const taken: string[] = []
  for (let at = 2; at < 5; at += 1) {
    taken.push(...queue.take(1))
    queue.add(`a${at}`)
  }
  expect(taken).toEqual(['a1', 'b1', 'a2'])
})
