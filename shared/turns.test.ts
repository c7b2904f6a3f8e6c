import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createTurns, type TurnLimits } from './turns.ts'

/** Runs actions that the test ends, named by their owner and a number. */
const aQueue = (limits: Partial<TurnLimits>) => {
  const run = createTurns('pictures', { slots: 1, reserve: 0, maxWaiting: 8, maxWaitingOfOne: 8, ...limits })
  const ends = new Map<string, { resolve: () => void; reject: (error: Error) => void }>()
  const refused: string[] = []
  const start = (...names: string[]): void => {
    for (const name of names) {
      const action = () => new Promise<void>((resolve, reject) => ends.set(name, { resolve, reject }))
      const refuse = (crowd: string) => new Error(`${name} ${crowd}`)
      run(name.slice(0, 1), action, refuse).catch(({ message }: Error) => refused.push(message))
    }
  }
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.resolve()
    await turn()
  }
  return { start, end, ends, refused, begun: () => [...ends.keys()] }
}

test('owners take turns, and none has two in a row while another waits', async () => {
  const { start, end, begun } = aQueue({})
  start('a1', 'a2', 'a3', 'b1', 'c1', 'b2')
  for (const name of ['a1', 'b1', 'a2', 'c1', 'b2']) await end(name)
  expect(begun()).toEqual(['a1', 'b1', 'a2', 'c1', 'b2', 'a3'])
})

test('the last slots are for owners without a slot, one for each', async () => {
  const { start, end, begun } = aQueue({ slots: 4, reserve: 2 })
  start('a1', 'a2', 'a3', 'b1', 'b2', 'c1', 'd1')
  expect(begun()).toEqual(['a1', 'a2', 'b1', 'c1'])
  await end('b1')
  expect(begun().slice(4)).toEqual(['d1'])
  await end('c1')
  expect(begun().slice(5)).toEqual(['b2'])
})

test('refuses what an owner or all have too much of, and keeps the last places for owners of which none waits', async () => {
  const { start, refused } = aQueue({ maxWaitingOfOne: 5 })
  start('a0', 'a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'b1', 'b2', 'c1', 'd1')
  await turn()
  expect(refused).toEqual(['a6 owner', 'b2 all'])
  start('e1')
  await turn()
  expect(refused.slice(2)).toEqual(['e1 all'])
})

test('a failed action frees its slot, and one that waits too long is refused and never runs', async () => {
  let expire = (): void => undefined
  const clock = {
    setTimeout: (run: () => void) => {
      expire = run
      return { cancel: () => undefined }
    },
  }
  const { start, ends, end, begun, refused } = aQueue({ wait: { clock, maxMs: 1_000 } })
  start('a1', 'a2')
  ends.get('a1')?.reject(new Error('failed'))
  await turn()
  start('a3')
  expire()
  await turn()
  await end('a2')
  expect([begun(), refused]).toEqual([
    ['a1', 'a2'],
    ['failed', 'a3 all'],
  ])
})
