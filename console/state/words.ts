/** The longest text of a filter, in characters. The rest is ignored. */
export const maxFilterLength = 1000

const quoted = String.raw`"((?:\\.|[^"\\]|\\$)*)(?:"|$)`
const quotation = new RegExp(quoted, 'gs')
const word = new RegExp(String.raw`(?:[^\s"]|${quoted})+`, 'gs')
const value = new RegExp(`(?:[^,"]|${quoted})+`, 'gs')

/** Splits the text of a filter at spaces outside of quotes. A quote without an end ends with the text. */
export const splitWords = (text: string): string[] => text.slice(0, maxFilterLength).match(word) ?? []

/** Splits the values of a word at commas outside of quotes. Leaves out those that are empty and not quoted. */
export const splitValues = (text: string): string[] => text.match(value) ?? []

/** Returns a word or value without its quotes. In quotes, a backslash quotes the next character. */
export const unquote = (text: string): string =>
  text.replace(quotation, (_, inner: string) => inner.replace(/\\(.)/gs, '$1'))

/** Returns a value as a filter contains it, in quotes if it needs them. `unquote` returns the value again. */
export const quote = (text: string): string =>
  text === '' || /[\s",\\]/.test(text) ? `"${text.replace(/[\\"]/g, String.raw`\$&`)}"` : text
