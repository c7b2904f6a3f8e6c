import { RE2JS } from 're2js'
import { describe, expect, test } from 'vitest'
import { fc } from '#test/support/fastCheck.ts'
import { isLinearPattern } from './pattern.ts'

describe('a pattern', () => {
  test.each([
    ['^[a-z][a-z0-9_]{2,15}$'],
    [String.raw`^[\p{L}\p{N}_.-]{3,256}$`],
    [String.raw`(?i)^[\w.-]{3,64}(@[\w-]{1,63}(\.[\w-]{1,63}){1,8})?$`],
    [String.raw`\Q{1000}\E[[:alpha:]{9}]+`],
    [String.raw`[\]({1000}]{2,3}\(\{1000\}`],
    ['(?i)[à-ö]{1,64}'],
  ])('%s is accepted', (pattern) => {
    expect(isLinearPattern(pattern)).toBe(true)
  })

  test.each([
    ['with a syntax error', '('],
    ['that needs backtracking', String.raw`(a)\1`],
    ['with a long repetition of a long group', `(${'a'.repeat(240)}){1000}`],
    ['with nested repetitions', '((a?){30}(b?){30}){99}'],
    ['with many repetitions', '(a?){1000}'.repeat(5)],
    [
      'with a repetition behind a class that contains brackets',
      `[\\](a]${'(b)'.repeat(60)}([[:alpha:](]${'c'.repeat(9)}){999}`,
    ],
    ['with many ranges that ignore case', `(?i)${'[a-\u{10ffff}]'.repeat(40)}`],
    ['with many escaped ranges that ignore case', String.raw`(?i)[\x{80}-\x{10ffff}]`.repeat(10)],
    ['with unclosed classes', String.raw`[\a`.repeat(85)],
  ])('%s is refused', (_, pattern) => {
    expect(isLinearPattern(pattern)).toBe(false)
  })

  test('that is accepted compiles to a program of limited size', () => {
    const part = fc.constantFrom(
      'a',
      '(',
      ')',
      '{9}',
      '{1,99}',
      '{999}',
      '[',
      ']',
      '\\Q',
      '\\E',
      '\\',
      '?',
      '*',
      '|',
      '-',
      '^',
      '(?i)',
      'é',
    )
    fc.assert(
      fc.property(fc.array(part, { maxLength: 24 }), (parts) => {
        const pattern = parts.join('')
        fc.pre(isLinearPattern(pattern))
        expect(RE2JS.compile(pattern).programSize()).toBeLessThan(20_000)
      }),
      { numRuns: 3_000 },
    )
  })
})
