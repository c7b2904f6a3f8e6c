import { expect, test } from 'vitest'
import { formatAge, formatCount, formatDuration, formatTime } from './format.ts'

const s = 1000
const min = 60 * s
const h = 60 * min
const d = 24 * h

test.each([
  [-5 * s, '0s'],
  [0, '0s'],
  [1999, '1s'],
  [2 * min - 1, '119s'],
  [2 * min, '2m'],
  [2 * h - 1, '119m'],
  [2 * h, '2h'],
  [2 * d - 1, '47h'],
  [2 * d, '2d'],
  [729 * d, '729d'],
  [730 * d, '2y'],
])('formats the age %d as %s', (ms, text) => {
  expect(formatAge(ms)).toBe(text)
})

test.each([
  [-1, '0 ms'],
  [850.6, '850 ms'],
  [999.9, '999 ms'],
  [s, '1 s'],
  [4250, '4.2 s'],
  [min - 1, '59.9 s'],
  [min, '1 min'],
  [4 * min + 12 * s, '4 min 12 s'],
  [3 * h + 5 * min + 59 * s, '3 h 5 min'],
  [2 * d + 3 * h, '2 d 3 h'],
])('formats the duration %d as %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text)
})

test('formats a time as its formatter does, and an unknown time as nothing', () => {
  const formatter = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium', timeZone: 'UTC' })
  expect(formatTime(Date.parse('2026-01-02T14:03:12Z'), formatter)).toBe('14:03:12')
  expect([formatTime(0, formatter), formatTime(Number.NaN, formatter)]).toEqual(['', ''])
})

test('formats counts with separators and the right noun', () => {
  expect(['', 'world'].map((noun) => formatCount(3412, noun))).toEqual(['3,412', '3,412 worlds'])
  expect([0, 1].map((count) => formatCount(count, 'world'))).toEqual(['0 worlds', '1 world'])
})
