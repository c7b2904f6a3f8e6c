import { expect, test } from 'vitest'
import { matches, parseFilter } from '#console/state/filter.ts'
import { aRow } from '#console/state/testing/row.ts'
import { runsFilter } from './links.ts'

const fromMs = Date.parse('2026-11-28T14:00:00.001Z')
const at = (startedAtMs: number) => aRow({ startedAtMs })

test('a link has exactly the runs that count', () => {
  const text = runsFilter('phase:Active', { value: '1h', fromMs }, '"open')
  expect(text).toBe('phase:Active started:2026-11-28T14:00:00.001Z "open')
  const filter = parseFilter(runsFilter('phase:Active', { value: '1h', fromMs }, ''))
  expect(filter.faults).toEqual([])
  expect([0, fromMs - 1, fromMs, fromMs + 1].map((ms) => matches(filter, at(ms)))).toEqual([false, false, true, true])
})

test('a link of all present runs has no world without one', () => {
  const filter = parseFilter(runsFilter('phase:Active', { value: 'all', fromMs: 1 }, ''))
  expect([0, 1].map((ms) => matches(filter, at(ms)))).toEqual([false, true])
})
