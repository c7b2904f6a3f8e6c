import { expect, test } from 'vitest'
import { fc } from '#test/support/fastCheck.ts'
import { maxLinkLength, safeLink } from './link.ts'

test.each([
  ['https://example.com/a?b=c#d', 'https://example.com/a?b=c#d'],
  ['http://10.0.0.1:8080', 'http://10.0.0.1:8080/'],
  ['HTTPS://Example.com/A', 'https://example.com/A'],
  ['https://аpple.com/', 'https://xn--pple-43d.com/'],
])('links %s to %s', (text, href) => {
  expect(safeLink(text)).toBe(href)
})

test.each([
  'javascript:alert(1)',
  'JavaScript:alert(1)//http://x',
  'java\nscript:alert(1)',
  'data:text/html,<script>',
  'blob:https://example.com/1',
  'file:///etc/passwd',
  'ftp://example.com',
  'wss://example.com',
  '//example.com',
  '/path',
  'example.com',
  'https:example.com',
  'https:/example.com',
  'https:\\\\example.com',
  'https://example.com\\@evil.com',
  'https://',
  'https://user@example.com',
  'https://user:password@example.com',
  'https://:password@example.com',
  ' https://example.com',
  'https://example.com/ x',
  'https://exa\tmple.com',
  'https://example.com/\u202egpj.exe',
  'https://example.com/\u0001',
  'https://exa mple.com',
  `https://example.com/${'a'.repeat(maxLinkLength)}`,
  '',
])('links no %j', (text) => {
  expect(safeLink(text)).toBeUndefined()
})

test('returns only what is safe again', () => {
  const part = fc.constantFrom(
    'http',
    's',
    ':',
    '/',
    '//',
    '@',
    'a',
    '.com',
    '\\',
    'javascript:',
    '%0a',
    '?',
    '#',
    '[',
    '\n',
  )
  const text = fc.array(part).map((parts) => parts.join(''))
  fc.assert(
    fc.property(
      fc.oneof(
        text,
        text.map((rest) => `https://${rest}`),
        fc.webUrl(),
      ),
      (given) => {
        const href = safeLink(given)
        if (href === undefined) return
        expect(href).toMatch(/^https?:\/\/[^\s@/]+\//)
        expect(safeLink(href)).toBe(href)
      },
    ),
  )
})
