import { expect, test } from 'vitest'
import type { World } from '#client/operations.ts'
import { endMsOf, idleIn } from './ends.ts'
import type { Phase } from './row.ts'
import { aWorld } from './settings/testing/world.ts'

const startedAt = '2026-11-01T00:00:00.000Z'
const at3 = Date.parse('2026-11-01T03:00:00.000Z')
const ends = (phase: Phase, transient: boolean, members: Partial<World['status']> = { startedAt }) => {
  const { status, runtime } = aWorld()
  return endMsOf({ status: { ...status, phase, ...members }, runtime: { ...runtime, durationMinutes: 180 }, transient })
}

test.each<[Phase, boolean, number | undefined]>([
  ['Starting', false, at3],
  ['Active', true, at3],
  ['Error', false, at3],
  ['Stopped', true, at3],
  ['Stopped', false, undefined],
])('the duration of a world that is %s, transient %s, ends at %s', (phase, transient, expected) => {
  expect(ends(phase, transient)).toBe(expected)
})

test('the duration of a world without a run has no end', () => {
  expect(ends('Stopped', true, {})).toBeUndefined()
  expect(ends('Inactive', true)).toBeUndefined()
})

test('a world without a duration has no end', () => {
  const { status, runtime } = aWorld()
  const { durationMinutes: _, ...without } = runtime
  const world = { status: { ...status, phase: 'Active', startedAt }, runtime: without, transient: true } as const
  expect(endMsOf(world)).toBeUndefined()
})

const sleepsAt = '2026-11-01T00:15:00.000Z'
test.each<[string, World['status']['idle'], Phase, World['status']['idle']]>([
  ['will sleep', { since: startedAt, sleepsAt }, 'Active', { sleepsAt }],
  ['will sleep no more', { since: startedAt, sleepsAt }, 'Stopped', {}],
  ['is kept awake', { keptAwakeBy: 'Bots' }, 'Active', { keptAwakeBy: 'Bots' }],
  ['is no longer kept awake', { keptAwakeBy: 'Bots' }, 'Starting', {}],
  ['sleeps', { asleepSince: startedAt }, 'Stopped', { asleepSince: startedAt }],
  ['sleeps no more', { asleepSince: startedAt }, 'Starting', {}],
  ['does not sleep', undefined, 'Active', {}],
])('a world %s: %j in the phase %s', (_, idle, phase, expected) => {
  expect(idleIn(phase, idle)).toEqual(expected)
})
