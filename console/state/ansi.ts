/** A colour of a log: one of the 16 of the theme, from 0 to 15, or `#rrggbb`. */
export type Colour = number | string

/** The style of a part of a line. A colour is undefined where the line has that of the page. */
export type Style = {
  readonly foreground: Colour | undefined
  readonly background: Colour | undefined
  readonly isBold: boolean
}

/** A part of a line in one style. Its text has no escape sequences, but may have other controls: show it through `toVisible`. */
export type Span = { readonly text: string; readonly style: Style }

/** The most parts of a line. The text after the last change of style keeps that style. */
export const maxSpans = 200

const plain: Style = { foreground: undefined, background: undefined, isBold: false }
const escapeCharacter = '\u001b'

// A sequence without its end is removed up to its parameters, so that it hides no text.
const sequence = new RegExp(
  [
    String.raw`\[([\d;]{0,64})m`,
    String.raw`\[[0-?]{0,64}[ -/]{0,8}[@-~]?`,
    String.raw`\][^\x07\x1b]*(?:\x07|\x1b\\)`,
    String.raw`[PX^_][^\x1b]*\x1b\\`,
    '[ -/]{0,8}[0-~]?',
  ]
    .map((each) => `${escapeCharacter}${each}`)
    .join('|'),
  'g',
)

/** Returns the parts of a line in their colours. All escape sequences but colours and bold are removed without effect. */
export const parseAnsi = (line: string): Span[] => {
  const spans: { text: string; style: Style }[] = []
  let style = plain
  const add = (text: string): void => {
    const last = spans.at(-1)
    if (text === '') return
    if (last !== undefined && isSame(last.style, style)) last.text += text
    else spans.push({ text, style })
  }
  let at = 0
  for (const { 0: found, 1: codes, index } of line.includes(escapeCharacter) ? line.matchAll(sequence) : []) {
    add(line.slice(at, index))
    at = index + found.length
    if (codes !== undefined && spans.length < maxSpans) style = applyCodes(style, codes.split(';').map(Number))
  }
  add(line.slice(at))
  return spans
}

/** Returns a line without escape sequences. */
export const removeAnsi = (line: string): string => (line.includes(escapeCharacter) ? line.replace(sequence, '') : line)

const isSame = (a: Style, b: Style): boolean =>
  a.foreground === b.foreground && a.background === b.background && a.isBold === b.isBold

const applyCodes = (before: Style, codes: readonly number[]): Style => {
  let style = before
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0
    if (code !== 38 && code !== 48) style = applyCode(style, code)
    else {
      const { colour, length } = readColour(codes.slice(at + 1))
      if (colour !== undefined) style = { ...style, [code === 38 ? 'foreground' : 'background']: colour }
      at += length
    }
  }
  return style
}

const applyCode = (style: Style, code: number): Style => {
  if (code === 0) return plain
  if (code === 1 || code === 22) return { ...style, isBold: code === 1 }
  if (code >= 30 && code <= 37) return { ...style, foreground: code - 30 }
  if (code >= 90 && code <= 97) return { ...style, foreground: code - 90 + 8 }
  if (code === 39) return { ...style, foreground: undefined }
  if (code >= 40 && code <= 47) return { ...style, background: code - 40 }
  if (code >= 100 && code <= 107) return { ...style, background: code - 100 + 8 }
  return code === 49 ? { ...style, background: undefined } : style
}

/** Reads `5;n` or `2;r;g;b`, and returns how many codes it read. An unknown form ends the sequence. */
const readColour = ([form, ...values]: readonly number[]): { colour: Colour | undefined; length: number } => {
  if (form === 5) return { colour: indexed(values[0] ?? 256), length: 2 }
  if (form === 2) return { colour: hex(values.slice(0, 3)), length: 4 }
  return { colour: undefined, length: values.length + 1 }
}

/** Returns a colour of the table of 256: 16 of the theme, a cube of 6 × 6 × 6, and 24 greys. */
const indexed = (index: number): Colour | undefined => {
  if (index > 255) return undefined
  if (index < 16) return index
  if (index >= 232) return hex(Array.from({ length: 3 }, () => (index - 232) * 10 + 8))
  const steps = [Math.floor((index - 16) / 36), Math.floor((index - 16) / 6) % 6, (index - 16) % 6]
  return hex(steps.map((step) => (step === 0 ? 0 : step * 40 + 55)))
}

const hex = (values: readonly number[]): string | undefined =>
  values.length === 3 && values.every((value) => value <= 255)
    ? `#${values.map((value) => value.toString(16).padStart(2, '0')).join('')}`
    : undefined
