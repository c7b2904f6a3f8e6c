/** Text of these characters has nothing to show. */
const isPlain = /^[\t\n -~]*$/

/**
 * Controls, characters that turn the direction of text, characters without width and halves of pairs. Not tabs, line breaks, and
 * selectors that choose between the forms of a visible character, such as that of emoji.
 */
const invisible =
  /[[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u{FFF9}-\u{FFFB}]--[\t\n\u{FE00}-\u{FE0F}]]/gv

/** Returns a text in which each invisible character is a marker such as `⟨U+202E⟩`, so that nothing in it can mislead its reader. */
export const toVisible = (text: string): string => (isPlain.test(text) ? text : text.replace(invisible, toMarker))

const toMarker = (character: string): string =>
  `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`
