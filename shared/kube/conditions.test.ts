import { expect, test } from 'vitest'
import { setCondition } from './conditions.ts'

const ready = { type: 'Ready', status: 'True', reason: 'Done', message: '' } as const
const noon = Date.UTC(2026, 0, 1, 12)

test('sets lastTransitionTime of a new condition to the current time in whole seconds', () => {
  expect(setCondition([], ready, noon + 250)).toEqual([{ ...ready, lastTransitionTime: '2026-01-01T12:00:00Z' }])
})

test('keeps lastTransitionTime while the status is unchanged, even if other fields change', () => {
  const [before] = setCondition([], ready, noon)
  const after = setCondition(
    before ? [before] : [],
    { ...ready, reason: 'Other', observedGeneration: 2 },
    noon + 60_000,
  )
  expect(after).toEqual([
    { ...ready, reason: 'Other', observedGeneration: 2, lastTransitionTime: '2026-01-01T12:00:00Z' },
  ])
})

test('updates lastTransitionTime when the status changes, and sorts conditions by type', () => {
  const both = setCondition(setCondition([], ready, noon), { ...ready, type: 'Degraded', status: 'False' }, noon)
  const flipped = setCondition(both, { ...ready, status: 'False' }, noon + 60_000)
  expect(flipped.map(({ type, lastTransitionTime }) => [type, lastTransitionTime])).toEqual([
    ['Degraded', '2026-01-01T12:00:00Z'],
    ['Ready', '2026-01-01T12:01:00Z'],
  ])
})
