import { expect, test } from 'vitest'
import { createTurns } from './turns.ts'

const createAction = () => {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const action = { hasBegun: false, resolve, reject, run: () => Promise.resolve('never run') }
  action.run = () => {
    action.hasBegun = true
    return promise
  }
  return action
}

test('runs up to maxConcurrent actions, queues the others in order and refuses one more', async () => {
  const takeTurn = createTurns({ maxConcurrent: 1, maxQueued: 2 })
  const [first, second, third, fourth] = [createAction(), createAction(), createAction(), createAction()]
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

test('does not start a queued action before its turn', async () => {
  const takeTurn = createTurns({ maxConcurrent: 1, maxQueued: 1 })
  const [first, second] = [createAction(), createAction()]
  const turns = [first, second].map((action) => takeTurn(action.run))
  await new Promise(setImmediate)
  expect([first.hasBegun, second.hasBegun]).toEqual([true, false])
  first.resolve('done')
  second.resolve('done')
  await Promise.all(turns)
})

test('passes the turn on when an action fails', async () => {
  const takeTurn = createTurns({ maxConcurrent: 1, maxQueued: 0 })
  const failing = createAction()
  const turn = takeTurn(failing.run)
  failing.reject(new Error('no luck'))
  await expect(turn).rejects.toThrow('no luck')
  expect(await takeTurn(async () => 'runs')).toBe('runs')
})
