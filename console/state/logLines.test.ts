import { expect, test } from 'vitest'
import { fc } from '#test/support/fastCheck.ts'
import { createLogLines, logLimits } from './logLines.ts'

const allOf = (log: ReturnType<typeof createLogLines>): string[] =>
  Array.from({ length: log.length }, (_, index) => log.lineAt(log.dropped + index))

const aLog = (limits: Partial<typeof logLimits>, ...texts: string[]) => {
  const log = createLogLines({ ...logLimits, ...limits })
  for (const text of texts) log.appendText(text)
  return log
}

test('joins the pieces of a line, and shows a line that has not ended', () => {
  const log = aLog({}, 'a', 'b\n\nc\r', '\nd')
  expect(allOf(log)).toEqual(['ab', '', 'c', 'd'])
  log.appendText('e\n')
  expect(allOf(log)).toEqual(['ab', '', 'c', 'de'])
})

test('keeps the newest lines, and the number of each line', () => {
  const text = Array.from({ length: 25_000 }, (_, index) => `line ${index}\n`).join('')
  const log = aLog({}, text)
  expect([log.length, log.dropped]).toEqual([20_000, 5000])
  expect(log.lineAt(5000)).toBe('line 5000')
  log.appendText('the last')
  expect([log.length, log.dropped]).toEqual([20_000, 5001])
  expect([log.lineAt(5000), log.lineAt(5001), log.lineAt(25_000)]).toEqual(['', 'line 5001', 'the last'])
  expect([log.lineAt(-1), log.lineAt(25_001)]).toEqual(['', ''])
})

test('drops the oldest lines when the log has too many characters', () => {
  const log = aLog({ characters: 10 }, 'aaaa\nbbbb\n', 'cccc')
  expect(allOf(log)).toEqual(['bbbb', 'cccc'])
  expect(log.dropped).toBe(1)
})

test('continues a long line on the next one', () => {
  expect(allOf(aLog({ lineLength: 3 }, 'abcdefgh\ni'))).toEqual(['abc', 'def', 'gh', 'i'])
  expect(allOf(aLog({ lineLength: 3 }, 'ab', 'cd', 'ef\n'))).toEqual(['abc', 'def'])
})

test('finds the numbers of lines in any case, in spite of colours', () => {
  const log = aLog({ lines: 3 }, 'lobby\n', 'x\n', '\u001b[31mLob\u001b[0mby failed\n', 'the LOBBY')
  expect(log.search('lobBY')).toEqual([2, 3])
  expect([log.search('arena'), log.search('')]).toEqual([[], []])
})

test('has the newest lines of a text, whatever its pieces are', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('a', 'bb', '\n', '\r\n', 'c\nd', '')),
      fc.integer({ min: 1, max: 9 }),
      (pieces, lines) => {
        const all = pieces.join('').split(/\r?\n/)
        if (all.at(-1) === '') all.pop()
        const log = aLog({ lines }, ...pieces)
        expect(allOf(log)).toEqual(all.slice(-lines))
        expect(log.dropped).toBe(Math.max(0, all.length - lines))
      },
    ),
  )
})
