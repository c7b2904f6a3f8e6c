/** Returns the sentences as one text. */
export const joinSentences = (...sentences: readonly (string | undefined)[]): string =>
  sentences.filter(Boolean).join(' ')

/** Returns a count with its noun, such as `1 bot` or `2 bots`. */
export const countOf = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`
