import { expect, test } from 'vitest'
import { aRow } from '#console/state/testing/row.ts'
import { fromNowOn, parseSince, toSince, windows } from './since.ts'

const nowMs = Date.parse('2026-11-28T14:00:00Z')
const minuteMs = 60_000

test.each([
  ['', '1h', nowMs - 60 * minuteMs],
  ['15m', '15m', nowMs - 15 * minuteMs],
  ['1d', '1d', nowMs - 1_440 * minuteMs],
  ['2026-11-28T13:58:00Z', '2026-11-28T13:58:00.000Z', nowMs - 2 * minuteMs],
  ['2026-11-28T14:58+01:00', '2026-11-28T13:58:00.000Z', nowMs - 2 * minuteMs],
])('counts runs since %j from the time that it means', (text, value, fromMs) => {
  expect(parseSince(text, nowMs)).toEqual({ value, fromMs, fault: '' })
})

test('counts all runs, but no world without one', () => {
  for (const text of ['all', '1970-01-01T00:00:00Z'])
    expect(parseSince(text, nowMs)).toMatchObject({ fromMs: 1, fault: '' })
})

test.each(['yesterday', '2026-11-28', '2026-11-28T14:00:00', '2026-99-28T14:00:00Z', '1969-01-01T00:00:00Z', '<img>'])(
  'says that %s is not a time, and counts the last hour',
  (text) => {
    const { value, fromMs, fault } = parseSince(text, nowMs)
    expect({ value, fromMs }).toEqual({ value: '1h', fromMs: nowMs - 60 * minuteMs })
    expect(fault).toContain(`${text} is not a time. Use 15m, 1h, 1d, all or an instant`)
  },
)

test('counts from now on by the clock of the API, behind the newest request', () => {
  const rows = [
    aRow({ startedAtMs: nowMs - 3_600_000 }),
    aRow({ startedAtMs: nowMs - 7_200_000 }),
    aRow({ startedAtMs: 0 }),
  ]
  expect(fromNowOn(rows, nowMs)).toBe('2026-11-28T13:00:00.001Z')
  // Without a run, the clock of the browser may be ahead.
  expect(fromNowOn([aRow({ startedAtMs: 0 })], nowMs)).toBe('2026-11-28T13:59:00.000Z')
})

test('returns each choice from the URL, in which the default is absent', () => {
  for (const { name } of windows) expect(parseSince(toSince(name), nowMs).value).toBe(name)
  expect(toSince('1h')).toBe('')
})
