import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseFilter } from '#console/state/filter.ts'
import { aRow } from '#console/state/testing/row.ts'
import { toLaunch } from './launch.ts'
import { describeBin, describeNone, describeTimes, formatSeconds, withoutNote } from './words.ts'

const times = (rows: Parameters<typeof aRow>[0][]): string =>
  describeTimes(toLaunch({ rows: rows.map(aRow), filter: parseFilter(''), fromMs: 1, nowMs: 3_000_000 }))

test('says how many runs the figures are of, and counts the others', () => {
  const isStarting = { phase: 'Starting', readySinceMs: 0 } as const
  expect(times([{}])).toBe('Of 1 run that is ready.')
  expect(times([{}, {}, isStarting])).toBe('Of 2 runs that are ready. Not in the figures: 1 still starts.')
  expect(
    times([
      isStarting,
      { ...isStarting, message: 'Waiting for the server to start.' },
      { readySinceMs: 0 },
      { readySinceMs: 0 },
      { phase: 'Error', readySinceMs: 0 },
      { phase: 'Stopped', readySinceMs: 0 },
    ]),
  ).toBe('Of 0 runs that are ready. Not in the figures: 2 still start, 2 active are not ready now, 1 failed, 1 ended.')
})

test('counts the runs that became ready again', () => {
  const again = { readySinceMs: 2_000_000 + 46 * 60_000 } as const
  expect(times([{}, again])).toBe(
    'Of 1 run that is ready. Not in the figures: 1 became ready again later, more than 15 min after its request.',
  )
  expect(times([again, again])).toContain('2 became ready again later, more than 15 min after their request.')
})

test('says that no world has a run', () => {
  expect(describeNone(0, 'at any time')).toBe('No world matches the filter.')
  expect(describeNone(1, 'at any time')).toBe(
    'The 1 world that matches the filter has no run that was requested at any time.',
  )
  expect(describeNone(1_200, 'in the last hour')).toBe(
    'None of the 1,200 worlds that match the filter has a run that was requested in the last hour.',
  )
})

test('leaves out the note of a simulated node', () => {
  const node = readFileSync(new URL('../../../dev/node/kwok.ts', import.meta.url), 'utf8')
  const [, note = ''] = /simulated = '(.*)'/.exec(node) ?? []
  expect(withoutNote(note)).toBe('')
  expect(withoutNote(`The route is missing. ${note}`)).toBe('The route is missing.')
  expect(withoutNote('Waiting for the server to start.')).toBe('Waiting for the server to start.')
})

test('names the times of a bin', () => {
  expect(describeBin({ fromMs: 0, toMs: 30_000 })).toBe('0 s to 30 s')
  expect(describeBin({ fromMs: 60_000, toMs: Number.POSITIVE_INFINITY })).toBe('longer than 1 min')
})

test.each([
  [0, '0 s'],
  [-5, '0 s'],
  [1, '1 s'],
  [27_100, '28 s'],
  [59_001, '1 min'],
])('writes %i ms as %s', (ms, text) => {
  expect(formatSeconds(ms)).toBe(text)
})
