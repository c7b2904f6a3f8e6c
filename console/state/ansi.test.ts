import { expect, test } from 'vitest'
import { fc } from '#test/support/fastCheck.ts'
import { maxSpans, parseAnsi, removeAnsi, type Style } from './ansi.ts'

const esc = '\u001b'
const codes = (text: string): string => `${esc}[${text}m`

/** Returns the spans as pairs of text and the members of the style that are set. */
const parse = (line: string): [string, Partial<Style>][] =>
  parseAnsi(line).map(({ text, style: { foreground, background, isBold } }) => [
    text,
    {
      ...(foreground === undefined ? {} : { foreground }),
      ...(background === undefined ? {} : { background }),
      ...(isBold ? { isBold } : {}),
    },
  ])

test.each([
  ['30', { foreground: 0 }],
  ['37', { foreground: 7 }],
  ['90', { foreground: 8 }],
  ['97', { foreground: 15 }],
  ['40', { background: 0 }],
  ['47', { background: 7 }],
  ['100', { background: 8 }],
  ['107', { background: 15 }],
  ['1', { isBold: true }],
  ['1;31;42', { foreground: 1, background: 2, isBold: true }],
  ['38;5;9', { foreground: 9 }],
  ['38;5;16', { foreground: '#000000' }],
  ['38;5;208', { foreground: '#ff8700' }],
  ['38;5;232', { foreground: '#080808' }],
  ['48;5;255', { background: '#eeeeee' }],
  ['38;2;1;2;255', { foreground: '#0102ff' }],
  ['38;2;1;2;3;48;5;4;1', { foreground: '#010203', background: 4, isBold: true }],
])('reads the codes %s', (text, style) => {
  expect(parse(`a${codes(text)}b`)).toEqual([
    ['a', {}],
    ['b', style],
  ])
})

test.each([['0'], [''], ['22;39;49']])('ends colours and bold with %j', (text) => {
  expect(parse(`${codes('1;31;42')}a${codes(text)}b`)).toEqual([
    ['a', { foreground: 1, background: 2, isBold: true }],
    ['b', {}],
  ])
})

test.each(['2', '3', '4', '5', '7', '8', '38', '38;5', '38;5;256', '38;2;1;2', '38;2;1;2;256', '38;9;1', '999'])(
  'ignores the codes %s',
  (text) => {
    expect(parse(`a${codes(text)}b`)).toEqual([['ab', {}]])
  },
)

test.each([
  ['the cursor and the screen', `a${esc}[2Jb${esc}[10;20Hc${esc}[?25ld`],
  ['a title', `a${esc}]0;title\u0007b${esc}]2;title${esc}\\cd`],
  ['a link, but not its text', `a${esc}]8;;https://example.com${esc}\\bc${esc}]8;;${esc}\\d`],
  ['a device control string', `ab${esc}Pdata${esc}\\cd`],
  ['a character set', `a${esc}(Bb${esc}7c${esc}=d`],
  ['an escape at the end', `abcd${esc}`],
  ['parameters at the end', `abcd${esc}[31`],
  ['more codes than a sequence has', `abc${codes('1;'.repeat(32))}d`],
])('removes %s', (_, line) => {
  expect(parse(line)).toEqual([['abcd', {}]])
  expect(removeAnsi(line)).toBe('abcd')
})

test('shows the text after a sequence without an end', () => {
  for (const start of [']0;', 'P', '^', '_', 'X']) expect(removeAnsi(`a${esc}${start}secret`)).toMatch(/^a.*secret$/)
})

test('never loses or adds text, and never returns more than the most spans', () => {
  const part = fc.constantFrom(esc, '[', ']', 'm', '1', '31', '38;5;1', ';', 'P', '\\', '\u0007', 'text', '<b>')
  fc.assert(
    fc.property(fc.array(part, { maxLength: 100 }), (parts) => {
      const line = parts.join('')
      const spans = parseAnsi(line)
      const text = spans.map((span) => span.text).join('')
      expect(text).toBe(removeAnsi(line))
      expect(text).not.toContain(esc)
      expect(spans.every((span) => span.text !== '')).toBe(true)
    }),
  )
  const long = Array.from({ length: 1000 }, (_, index) => `${codes(String(31 + (index % 2)))}x`).join('')
  expect(parseAnsi(long)).toHaveLength(maxSpans)
  expect(parseAnsi(long).at(-1)?.text).toBe('x'.repeat(1000 - maxSpans + 1))
})
