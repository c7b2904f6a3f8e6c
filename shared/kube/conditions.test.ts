import { expect, test } from 'vitest'
import { setCondition } from './conditions.ts'

const ready = { type: 'Ready', status: 'True', reason: 'Done', message: '' } as const
const noon = Date.UTC(2026, 0, 1, 12)

test('a new condition begins now, in whole seconds', () => {
  expect(setCondition([], ready, noon + 250)).toEqual([{ ...ready, lastTransitionTime: '2026-01-01T12:00:00Z' }])
})

test('the transition time stays while the status stays, whatever else changes', () => {
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

test('the transition time moves when the status does, and the order never depends on it', () => {
  const both = setCondition(setCondition([], ready, noon), { ...ready, type: 'Degraded', status: 'False' }, noon)
  const flipped = setCondition(both, { ...ready, status: 'False' }, noon + 60_000)
  expect(flipped.map(({ type, lastTransitionTime }) => [type, lastTransitionTime])).toEqual([
    ['Degraded', '2026-01-01T12:00:00Z'],
    ['Ready', '2026-01-01T12:01:00Z'],
  ])
})
