/** Returns the sentences as one text. */
export const joinSentences = (...sentences: readonly (string | undefined)[]): string =>
  sentences.filter(Boolean).join(' ')

/** Returns a sentence as it continues after a colon. */
export const lowerFirst = (sentence: string): string => `${sentence.slice(0, 1).toLowerCase()}${sentence.slice(1)}`

/** Returns a count with its noun, such as `1 bot` or `2 bots`. */
export const countOf = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`
