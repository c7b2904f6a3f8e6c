import { expect, test } from 'vitest'
import { planOf, waits } from './schedule.ts'

const at = '2026-11-29T05:00:00.000Z'
const by = '2026-11-29T05:30:00.000Z'
const [before, during] = [Date.parse(at) - 1, Date.parse(at)]
/** Returns a plan as it is read, with the hours of its times. */
const read = (plan: ReturnType<typeof planOf>): string =>
  plan.map((each) => [each.before, each.at.slice(11, 16), each.after].filter(Boolean).join(' ')).join(' ')

test.each([
  ['start', false, 'Starts at 05:00'],
  ['start', true, 'Starts at 05:00 if it does not run then'],
  ['stop', true, 'Stops at 05:00'],
  ['stop', false, 'Stops at 05:00 if it runs, sleeps or waits to start then'],
  ['restart', true, 'Restarts at 05:00'],
  ['restart', false, 'Restarts at 05:00 if it runs then'],
] as const)('the plan says that a %s acts only on a world in the other state: runs %s', (what, hasRun, text) => {
  expect(read(planOf({ what, at }, hasRun, before))).toBe(text)
  expect(read(planOf({ what, at }, hasRun, during))).toBe(text)
})

test('the plan of a restart that waits says until when, before its time and from then on', () => {
  const next = { what: 'restart', at, by } as const
  const latest = 'when nobody is in the world, at 05:30 at the latest'
  expect(read(planOf(next, true, before))).toBe(`Restarts from 05:00 ${latest}`)
  expect(read(planOf(next, true, during))).toBe(`Restarts ${latest}`)
  expect(read(planOf(next, false, during))).toBe('Restarts from 05:00 if it runs then')
})

test('the plan has an action that only a newer API knows', () => {
  expect(read(planOf({ what: 'pause' as 'stop', at }, true, before))).toBe('pause at 05:00')
})

test('a restart waits from its time on, if it may wait', () => {
  const next = { what: 'restart', at, by } as const
  expect([waits(undefined, during), waits({ what: 'restart', at }, during)]).toEqual([false, false])
  expect([waits(next, before), waits(next, during)]).toEqual([false, true])
})
