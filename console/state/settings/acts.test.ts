import { expect, test } from 'vitest'
import type { World } from '#client/operations.ts'
import { actsOf } from './acts.ts'
import { fields } from './fields.ts'
import { aVersion, aWorld } from './testing/world.ts'

const nowMs = Date.parse('2026-11-01T03:00:00.000Z')
const acts = (id: string, text: string, members: Partial<World> = {}, phase: World['status']['phase'] = 'Active') => {
  const field = fields.find((each) => each.id === id)
  if (field === undefined) throw new Error(id)
  const status = { ...aWorld().status, phase, startedAt: '2026-11-01T00:00:00.000Z' }
  return actsOf(field, aVersion({ status, ...members }), text, nowMs)
}

test.each([
  ['60', false, 'The present run began 3 h ago: it ends at once'],
  ['180', false, 'The present run began 3 h ago: it ends at once'],
  ['60', true, 'The present run began 3 h ago: it ends at once, and the world is deleted'],
])('a duration of %s that is over ends the present run: transient %s', (text, transient, said) => {
  expect(acts('runtime.durationMinutes', text, { transient })).toEqual({ text: said, isWarning: true })
  expect(acts('runtime.durationMinutes', text, { transient }, 'Starting')).toEqual({ text: said, isWarning: true })
})

test.each([
  ['240', false, 'At once: the present run ends in 1 h'],
  ['240', true, 'At once: the present run ends in 1 h, and the world is deleted'],
  ['', true, 'At once'],
  ['soon', true, 'At once'],
])('a duration of "%s" that is not over says when the present run ends: transient %s', (text, transient, said) => {
  expect(acts('runtime.durationMinutes', text, { transient })).toEqual({ text: said, isWarning: false })
})

const since = (idle: World['status']['idle']): Partial<World> => ({
  status: { ...aWorld().status, phase: 'Active', ...(idle && { idle }) },
})
test.each([
  [
    '60',
    { since: '2026-11-01T01:30:00.000Z' },
    'Nobody was in the world for 1 h 30 min: the present run ends at once',
    true,
  ],
  [
    '90',
    { since: '2026-11-01T01:30:00.000Z' },
    'Nobody was in the world for 1 h 30 min: the present run ends at once',
    true,
  ],
  [
    '100',
    { since: '2026-11-01T01:30:00.000Z' },
    'At once: the present run ends in 10 min if no player joins before',
    false,
  ],
  ['15', { keptAwakeBy: 'Players' }, 'At once: the present run ends after 15 min without players', false],
  ['15', { keptAwakeBy: 'WaitingPlayers' }, 'At once: the present run ends after 15 min without players', false],
  ['15', { keptAwakeBy: 'Bots' }, 'At once: the present run is kept awake by bots', false],
  [
    '15',
    { keptAwakeBy: 'UnknownCounts' },
    'At once: the present run is kept awake because the server does not report its players',
    false,
  ],
  ['15', undefined, 'At once: the present run ends after 15 min without players', false],
  ['', { since: '2026-11-01T01:30:00.000Z' }, 'At once', false],
] as const)(
  'a time of %s minutes without players, with %j, says when the present run ends',
  (text, idle, said, isWarning) => {
    expect(acts('runtime.idleStopMinutes', text, since(idle))).toEqual({ text: said, isWarning })
  },
)

test('a time without players ends no run of a world that has none', () => {
  const { status } = aWorld()
  const asleep = {
    ...status,
    phase: 'Stopped',
    idle: { since: '2026-11-01T01:30:00.000Z', asleepSince: '2026-11-01T02:00:00.000Z' },
  } as const
  expect(acts('runtime.idleStopMinutes', '1', { status: asleep })).toEqual({ text: 'At once', isWarning: false })
})

test('a duration that is over deletes a transient world whose run has ended', () => {
  const said = 'The last run began 3 h ago: the world is deleted at once'
  expect(acts('runtime.durationMinutes', '60', { transient: true }, 'Error')).toEqual({ text: said, isWarning: true })
  expect(acts('runtime.durationMinutes', '60', {}, 'Error')).toEqual({ text: 'At once', isWarning: false })
})

test('the other settings act at once or at the next start, and a run that is closed admits nobody', () => {
  expect(acts('runtime.mapName', 'ice').text).toBe('At the next start')
  expect(acts('name', 'Hall').text).toBe('At once')
  expect(acts('admission.policy', 'Closed').text).toBe('At once: the present run admits no more users')
  expect(acts('admission.policy', 'Closed', {}, 'Stopped').text).toBe('At once')
})

test('an edit of the schedule drops a restart that waits, and no other one', () => {
  const dropped = 'At once: the restart that waits for an empty world is not done'
  const [at, by] = ['2026-11-01T02:50:00.000Z', '2026-11-01T03:20:00.000Z']
  const waiting = { ...aWorld().status, nextAction: { what: 'restart', at, by } } as const
  const stop = 'runtime.schedule.stop'
  expect(acts(stop, '', { status: waiting })).toEqual({ text: dropped, isWarning: true })
  expect(acts('name', 'Hall', { status: waiting }).text).toBe('At once')
  const coming = { ...aWorld().status, nextAction: { what: 'restart', at: by, by } } as const
  expect(acts(stop, '', { status: coming })).toEqual({ text: 'At once', isWarning: false })
})
