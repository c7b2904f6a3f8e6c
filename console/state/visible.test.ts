import { expect, test } from 'vitest'
import { fc } from '#test/support/fastCheck.ts'
import { toVisible } from './visible.ts'

test.each([
  ['a direction override', '\u202e', '⟨U+202E⟩'],
  ['a direction isolate', '\u2066', '⟨U+2066⟩'],
  ['a direction mark', '\u200f', '⟨U+200F⟩'],
  ['the Arabic letter mark', '\u061c', '⟨U+061C⟩'],
  ['a space without width', '\u200b', '⟨U+200B⟩'],
  ['a joiner', '\u200d', '⟨U+200D⟩'],
  ['a byte order mark', '\ufeff', '⟨U+FEFF⟩'],
  ['a soft hyphen', '\u00ad', '⟨U+00AD⟩'],
  ['a filler', '\u3164', '⟨U+3164⟩'],
  ['a tag character', '\u{e0041}', '⟨U+E0041⟩'],
  ['an annotation', '\ufff9', '⟨U+FFF9⟩'],
  ['a line separator', '\u2028', '⟨U+2028⟩'],
  ['a null', '\0', '⟨U+0000⟩'],
  ['an escape', '\u001b', '⟨U+001B⟩'],
  ['a carriage return', '\r', '⟨U+000D⟩'],
  ['a control of Latin-1', '\u009b', '⟨U+009B⟩'],
  ['half of a pair', '\ud83d', '⟨U+D83D⟩'],
])('shows %s', (_, character, marker) => {
  expect(toVisible(`a${character}b${character}`)).toBe(`a${marker}b${marker}`)
})

test('keeps visible text, tabs and line breaks', () => {
  const text = 'a\tb\nÄrger 世界 العربية עברית 😀 ❤️ é ﬁ'
  expect(toVisible(text)).toBe(text)
})

test('returns text that it never has to change again', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const visible = toVisible(text)
      expect(toVisible(visible)).toBe(visible)
      expect(visible).not.toMatch(/[\u200b-\u200f\u202a-\u202e\u2060-\u2069\u007f-\u009f]/)
    }),
  )
})
