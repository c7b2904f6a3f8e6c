import { expect, test } from 'vitest'
import { createTurns } from './turns.ts'

const anAction = () => {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const action = { hasBegun: false, resolve, reject, run: () => Promise.resolve('never run') }
  action.run = () => {
    action.hasBegun = true
    return promise
  }
  return action
}

test('as many run as may, the others wait in order, and one more is turned away', async () => {
  const takeTurn = createTurns({ maxConcurrent: 1, maxQueued: 2 })
  const [first, second, third, fourth] = [anAction(), anAction(), anAction(), anAction()]
  const turns = [first, second, third].map((action) => takeTurn(action.run))
  expect(takeTurn(fourth.run)).toBeUndefined()

  first.resolve('first')
  expect(await turns[0]).toBe('first')
  second.resolve('second')
  expect(await turns[1]).toBe('second')
  third.resolve('third')
  expect(await turns[2]).toBe('third')
  expect(fourth.hasBegun).toBe(false)
})

test('what waits does not begin before its turn', async () => {
  const takeTurn = createTurns({ maxConcurrent: 1, maxQueued: 1 })
  const [first, second] = [anAction(), anAction()]
  const turns = [first, second].map((action) => takeTurn(action.run))
  await new Promise(setImmediate)
  expect([first.hasBegun, second.hasBegun]).toEqual([true, false])
  first.resolve('done')
  second.resolve('done')
  await Promise.all(turns)
})

test('an action that fails gives its turn on', async () => {
  const takeTurn = createTurns({ maxConcurrent: 1, maxQueued: 0 })
  const failing = anAction()
  const turn = takeTurn(failing.run)
  failing.reject(new Error('no luck'))
  await expect(turn).rejects.toThrow('no luck')
  expect(await takeTurn(async () => 'runs')).toBe('runs')
})
