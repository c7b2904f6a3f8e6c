import { expect, test } from 'vitest'
import type { World } from '#client/operations.ts'
import { describeAwake, reportOf } from './server.ts'
import { aWorld } from './settings/testing/world.ts'
import { aRow } from './testing/row.ts'

const queueState = { queued: 0, active: 4, version: '1.21', map: 'de_dust2' }
const withResponding = (
  status: 'True' | 'False' | 'Unknown' | undefined,
  phase: World['status']['phase'] = 'Active',
): World => {
  const responding = { type: 'Responding', reason: '', message: '', lastTransitionAt: '2026-11-01T00:00:00.000Z' }
  const conditions = (status === undefined ? [] : [{ ...responding, status }]) as World['status']['conditions']
  return aWorld({ queueState, status: { ...aWorld().status, phase, conditions } })
}

test.each(['False', 'Unknown'] as const)(
  'the players of a running world are unknown while Responding is %s',
  (status) => {
    const unknown = { players: 'Unknown: the server does not report them', version: '', map: '' }
    expect(reportOf(withResponding(status), aRow({ players: undefined }))).toEqual(unknown)
    expect(reportOf(withResponding(status), undefined)).toEqual(unknown)
  },
)

test('counts of the fleet are shown although the world was read before the server answered', () => {
  expect(reportOf(withResponding('False'), aRow()).players).toBe('3 of 10')
})

test('a server that answers and has reported nobody yet has the players of the world', () => {
  expect(reportOf(withResponding('True'), aRow({ players: undefined })).players).toBe('4 of 30')
})

test.each([
  ['Active', undefined, '—'],
  ['Starting', undefined, '4 of 30'],
  ['Starting', 'Unknown', '4 of 30'],
  ['Stopped', undefined, '4 of 30'],
] as const)('the players of a world that is %s, with Responding %s, are "%s"', (phase, status, players) => {
  expect(reportOf(withResponding(status, phase), aRow({ phase, players: undefined })).players).toBe(players)
})

test('version and map are those of the fleet, else those of the world, else empty', () => {
  const world = withResponding('True')
  expect(reportOf(world, aRow({ reportedVersion: '1.22', reportedMap: 'ice' }))).toMatchObject({
    version: '1.22',
    map: 'ice',
  })
  expect(reportOf(world, aRow())).toMatchObject({ version: '1.21', map: 'de_dust2' })
  expect(reportOf(aWorld(), undefined)).toEqual({ players: '0 of 30', version: '', map: '' })
})

test('what keeps a run awake is said in words, that of a newer API by its name', () => {
  expect(['Players', 'UnknownCounts', 'toString'].map(describeAwake)).toEqual([
    'kept awake by players',
    'kept awake because the server does not report its players',
    'kept awake by toString',
  ])
})
