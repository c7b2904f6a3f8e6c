import type { LogLines } from './logLines.ts'

/** The numbers of the lines that contain a query. The next search starts at the line `next`. */
export type Matches = { readonly query: string; readonly next: number; readonly lines: readonly number[] }

/** The matches before the first search. */
export const noMatches: Matches = { query: '', next: 0, lines: [] }

/** Returns the matches in a log. Only the lines that were added since `before` are searched, unless the query is another one. */
export const findMatches = (
  before: Matches,
  { dropped, length, search }: Pick<LogLines, 'dropped' | 'length' | 'search'>,
  query: string,
): Matches => {
  const from = query === before.query ? Math.max(before.next, dropped) : dropped
  const kept = query === before.query ? before.lines.filter((line) => line >= dropped && line < from) : []
  // The last line may not have ended.
  return { query, next: Math.max(dropped, dropped + length - 1), lines: [...kept, ...search(query, from)] }
}

/** A part of a line: text that contains the searched words, or text between. */
export type Piece = { readonly text: string; readonly isMatch: boolean }

/** Splits a text at each occurrence of the query, without regard to case. An empty query matches nothing. */
export const splitMatches = (text: string, query: string): Piece[] => {
  const wanted = query.toLowerCase()
  const folded = text.toLowerCase()
  // Some letters have another length in lower case, so places in the folded text are not those in the text.
  if (wanted === '' || folded.length !== text.length) return [{ text, isMatch: false }]
  const pieces: Piece[] = []
  let start = 0
  for (let at = folded.indexOf(wanted); at >= 0; at = folded.indexOf(wanted, start)) {
    if (at > start) pieces.push({ text: text.slice(start, at), isMatch: false })
    start = at + wanted.length
    pieces.push({ text: text.slice(at, start), isMatch: true })
  }
  if (start < text.length) pieces.push({ text: text.slice(start), isMatch: false })
  return pieces
}

/**
 * Returns the place in `matches` to which a step leads: from `present`, the line of the present match, or from the last line before
 * the first step. The ends are joined. -1 if there are no matches.
 */
export const stepMatch = (matches: readonly number[], present: number | undefined, step: 1 | -1): number => {
  if (matches.length === 0) return -1
  if (present === undefined) return step === 1 ? 0 : matches.length - 1
  const next =
    step === 1 ? matches.findIndex((line) => line > present) : matches.findLastIndex((line) => line < present)
  if (next >= 0) return next
  return step === 1 ? 0 : matches.length - 1
}
