import { expect, test } from 'vitest'
import { presentConditions, type StoredCondition } from './conditions.ts'

const remedyFor = (type: StoredCondition['type'], reason: string): string | undefined => {
  const [shown] = presentConditions([{ type, status: 'False', reason, message: '', lastTransitionAt: '' }])
  return shown?.remedy
}

test('a limit that a run reached and a limit that prevents an adoption have remedies of their own', () => {
  expect(remedyFor('Degraded', 'LimitReached')).toMatch(/^Stop another world/)
  expect(remedyFor('Synced', 'LimitReached')).toMatch(/^Delete another one/)
  expect(remedyFor('Synced', 'EditRefused')).toMatch(/^Change the resource/)
  expect(remedyFor('Synced', 'Synced')).toBeUndefined()
})
