import { expect, test } from 'vitest'
import { hasActiveScheme, linkText } from './fields.ts'

const hostile = ['javascript:alert(1)', 'vbscript:msgbox', 'data:text/html,<script>']
const disguises: [string, (text: string) => string][] = [
  ['as it is', (text) => text],
  ['in capitals', (text) => text.toUpperCase()],
  ['in mixed case', (text) => text.replace(/a/g, 'A')],
  ['after blanks', (text) => `  ${text}`],
  ['after control characters', (text) => `\u0001\u001f\u007f${text}`],
  ['after a byte order mark and a wide blank', (text) => `\ufeff\u3000${text}`],
  ['after characters without width', (text) => `\u200b\u2060${text}`],
  ['with a tab inside the scheme', (text) => `${text.slice(0, 2)}\t${text.slice(2)}`],
  ['with line ends inside the scheme', (text) => `${text.slice(0, 3)}\r\n${text.slice(3)}`],
  ['with a line end before the colon', (text) => text.replace(':', '\n:')],
]

test.each(disguises)('rejects a link with an active scheme %s', (_, disguise) => {
  for (const text of hostile) {
    expect(hasActiveScheme(disguise(text))).toBe(true)
    expect(linkText().safeParse(disguise(text)).success).toBe(false)
  }
})

test.each(['', 'https://example.com/', '/done', 'myapp://join', 'see javascript: the book', 'database:1', 'datafile'])(
  'keeps the link %j unchanged',
  (text) => {
    expect(linkText().parse(text)).toBe(text)
  },
)

test('agrees with the URL parser on every short text around a scheme', () => {
  const pieces = ['', ' ', '\t', '\n', '\u0000', 'x', 'JavaScript', 'data', ':', '//']
  for (const a of pieces) {
    for (const b of pieces) {
      for (const c of pieces) {
        const parsed = URL.parse(a + b + c)?.protocol
        if (parsed === 'javascript:' || parsed === 'data:') expect(hasActiveScheme(a + b + c)).toBe(true)
      }
    }
  }
})
