import { expect, test } from 'vitest'
import { createFairQueue } from './fairQueue.ts'

const aQueue = (...items: string[]) => {
  const queue = createFairQueue('resources', (item: string) => item.slice(0, 1))
  for (const item of items) queue.add(item)
  return queue
}

test('takes one item of each group in turn', () => {
  const queue = aQueue('a1', 'a2', 'a3', 'b1', 'c1', 'c2')
  expect(queue.take(4)).toEqual(['a1', 'b1', 'c1', 'a2'])
  queue.add('b2')
  expect(queue.take(9)).toEqual(['c2', 'a3', 'b2'])
  expect(queue.size).toBe(0)
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

test('passes over a group that may not take now, which keeps its turn', () => {
  const queue = aQueue('a1', 'b1', 'a2', 'b2')
  expect(queue.take(9, (group) => group === 'b')).toEqual(['b1', 'b2'])
  expect([queue.hasNext((group) => group === 'b'), queue.hasNext(() => true)]).toEqual([false, true])
  queue.add('b3')
  expect(queue.take(9)).toEqual(['a1', 'b3', 'a2'])
})

test('forgets deleted items, and counts those that it holds', () => {
  const queue = aQueue('a1', 'a2', 'b1')
  queue.delete('b1')
  queue.delete('a1')
  queue.delete('c1')
  expect(queue.size).toBe(1)
  queue.putBack(['b2', 'a2'])
  expect(queue.size).toBe(2)
  queue.add('a1')
  expect(queue.take(9)).toEqual(['b2', 'a2', 'a1'])
  expect(queue.size).toBe(0)
})
