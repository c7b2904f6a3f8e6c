import { expect, test } from 'vitest'
import { frozenRunFields, type WorldRun } from '#shared/resources/world.ts'
import { frozen, podOfRun } from './fixtures.ts'
import { isBuiltFrom } from './pod.ts'

const run = frozen().status?.run as WorldRun

test.each(frozenRunFields)('a pod was made for another run if its field %s differs', (field) => {
  expect(isBuiltFrom(podOfRun(run), run)).toBe(true)
  expect(isBuiltFrom(podOfRun(run), { ...run, [field]: 'another' })).toBe(false)
})

test('a pod was made for its run whatever happened since the start', () => {
  const later = { ...run, startedAt: '2030-01-01T00:00:00Z', restarts: 2, readyAt: '2030-01-01T00:00:00Z' }
  expect(isBuiltFrom(podOfRun(run), later)).toBe(true)
})
