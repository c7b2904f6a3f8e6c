import { expect, test } from 'vitest'
import { presentConditions, type StoredCondition } from './conditions.ts'

const remedyFor = (type: StoredCondition['type'], reason: string, isOfBots = false): string | undefined => {
  const [shown] = presentConditions([{ type, status: 'False', reason, message: '', lastTransitionAt: '' }], isOfBots)
  return shown?.remedy
}

test('what is wrong with a server and what is refused have remedies', () => {
  expect(remedyFor('Degraded', 'OutOfMemory')).toMatch(/^Choose a larger scaling profile/)
  expect(remedyFor('Synced', 'LimitReached')).toMatch(/^Delete another one/)
  expect(remedyFor('Synced', 'EditRefused')).toMatch(/^Change the resource/)
  expect(remedyFor('Synced', 'Synced')).toBeUndefined()
})

test('bots have remedies of their own', () => {
  expect(remedyFor('Degraded', 'RestartBudget')).toMatch(/start the world again/)
  expect(remedyFor('Degraded', 'RestartBudget', true)).toMatch(/lower the count of the bots/)
  expect(remedyFor('Degraded', 'OutOfMemory', true)).toMatch(/^Raise the memory/)
})
