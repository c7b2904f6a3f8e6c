import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createLogLines, logLimits } from './logLines.ts'
import { findMatches, noMatches, splitMatches, stepMatch } from './logSearch.ts'

test('marks every occurrence without regard to case', () => {
  expect(splitMatches('Error: no error', 'error')).toEqual([
    { text: 'Error', isMatch: true },
    { text: ': no ', isMatch: false },
    { text: 'error', isMatch: true },
  ])
})

test('marks nothing without a query, and nothing at a wrong place', () => {
  expect(splitMatches('a', '')).toEqual([{ text: 'a', isMatch: false }])
  expect(splitMatches('İİ error', 'error')).toEqual([{ text: 'İİ error', isMatch: false }])
})

test('finds the same lines in a log that grows as in the whole log, and searches only what was added', () => {
  const texts = fc.array(fc.constantFrom('error\n', 'fine\n', 'an er', 'ror\n', 'x'), { maxLength: 12 })
  fc.assert(
    fc.property(texts, fc.constantFrom('error', 'ER', ''), (pieces, query) => {
      const log = createLogLines({ ...logLimits, lines: 5 })
      let found = noMatches
      let searched = 0
      for (const piece of pieces) {
        log.appendText(piece)
        const search: typeof log.search = (text, from) => {
          searched += log.dropped + log.length - Math.max(log.dropped, from ?? 0)
          return log.search(text, from)
        }
        const { dropped, length } = log
        found = findMatches(found, { dropped, length, search }, query)
        expect(found.lines).toEqual(log.search(query))
      }
      expect(searched).toBeLessThanOrEqual(2 * pieces.length)
    }),
  )
})

test('searches the whole log again for another query', () => {
  const log = createLogLines()
  log.appendText('error\nfine\n')
  expect(findMatches(findMatches(noMatches, log, 'error'), log, 'fine').lines).toEqual([1])
})

test('loses no text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ maxLength: 2 }), (text, query) => {
      expect(
        splitMatches(text, query)
          .map((piece) => piece.text)
          .join(''),
      ).toBe(text)
    }),
  )
})

test('steps to the next and previous match, around the ends', () => {
  const matches = [2, 5, 9]
  expect([undefined, 2, 5, 9].map((line) => stepMatch(matches, line, 1))).toEqual([0, 1, 2, 0])
  expect([undefined, 2, 5, 9].map((line) => stepMatch(matches, line, -1))).toEqual([2, 2, 0, 1])
  expect(stepMatch([], 3, 1)).toBe(-1)
})

test('steps on from a line that is no match any more', () => {
  expect(stepMatch([2, 9], 5, 1)).toBe(1)
  expect(stepMatch([2, 9], 5, -1)).toBe(0)
})
