import { expect, test } from 'vitest'
import { createTimes } from './times.ts'

const berlin = createTimes('Europe/Berlin')
const nowMs = Date.parse('2026-12-31T22:00:00Z')

test.each([
  ['2026-11-28T13:00:05Z', 'Nov 28, 14:00:05'],
  ['2028-11-28T13:00:00Z', 'Nov 28, 2028, 14:00:00'],
  ['2026-12-31T23:30:00Z', 'Jan 1, 2027, 00:30:00'],
  ['2025-12-31T23:30:00Z', 'Jan 1, 00:30:00'],
])('a time has the year only if it is another one in the zone: %s', (at, text) => {
  expect(berlin.write(at, nowMs)).toBe(text)
})

test('the zone has a name, and a time may be without its date', () => {
  expect(berlin.zone).toBe('Europe/Berlin')
  expect(createTimes().zone).not.toBe('')
  expect(berlin.writeTimeAlone('2028-11-28T13:00:00Z')).toBe('14:00:00')
})
