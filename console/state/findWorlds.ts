import type { Row } from './row.ts'

/** A world whose texts have all words of a search. */
export type FoundWorld = {
  readonly row: Row
  /** The sum of the ranks of the words: the lower, the better. */
  readonly rank: number
  /** The label or address in which a word was found. Empty if the name and the id have all of them. */
  readonly hint: string
}

/** The longest text of a search, in characters, and the most words in it. The rest is ignored. */
const maxTextLength = 200
const maxWords = 8

/** Returns the words of a search in lower case. */
export const wordsOf = (text: string): readonly string[] =>
  text
    .slice(0, maxTextLength)
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
    .slice(0, maxWords)

/** The ranks of a text by where it has a word: all of it is the word, then it begins with it, then one of its words does. */
const [whole, start, startOfWord, within] = [0, 1, 2, 3] as const
/** The ranks behind those of the name. */
const [idStart, inLabel, inAddress] = [4, 5, 6] as const
/** Ids are random, so a part of one is behind all else, however many words a search has. */
const inId = 100
/** The shortest word that is searched in ids, in characters. A shorter one is in the ids of many worlds by chance. */
const minIdLength = 4
/** The rank of a text without the word. */
export const nowhere = Number.POSITIVE_INFINITY

/** Returns the rank of a text in lower case for a word: the lower, the better. `nowhere` if it does not contain the word. */
export const rankOf = (text: string, word: string): number => {
  const at = text.indexOf(word)
  if (at < 0) return nowhere
  if (at === 0) return text.length === word.length ? whole : start
  for (let next = at; next > 0; next = text.indexOf(word, next + 1)) {
    if (!isWordCharacter.test(text.charAt(next - 1))) return startOfWord
  }
  return within
}
const isWordCharacter = /[\p{L}\p{N}]/u

/** A world with its texts in lower case. Those behind the name are made when a word is not in it. */
export type Candidate = { readonly row: Row; readonly name: string; labels: string | undefined }

/** Returns the candidates of a search, to be used for each of its texts. */
export const toCandidates = (rows: Iterable<Row>): readonly Candidate[] => {
  const candidates: Candidate[] = []
  for (const row of rows) candidates.push({ row, name: row.name.toLowerCase(), labels: undefined })
  return candidates
}

/** Returns all labels, one a line. */
const labelsOf = (candidate: Candidate): string => {
  if (candidate.labels !== undefined) return candidate.labels
  let text = ''
  const { labels } = candidate.row
  for (const key of Object.keys(labels)) text += `${key}=${labels[key]}\n`
  candidate.labels = text.toLowerCase()
  return candidate.labels
}

const rankIn = (candidate: Candidate, word: string): number => {
  const { row, name } = candidate
  const rank = rankOf(name, word)
  if (rank !== nowhere) return rank
  // Ids are in lower case.
  const idRank = word.length >= minIdLength && row.id.includes(word) ? inId : nowhere
  if (idRank === inId && row.id.startsWith(word)) return idStart
  if (labelsOf(candidate).includes(word)) return inLabel
  return row.address.toLowerCase().includes(word) ? inAddress : idRank
}

const rankOfAll = (candidate: Candidate, words: readonly string[]): number => {
  let sum = 0
  for (const word of words) {
    sum += rankIn(candidate, word)
    if (sum === nowhere) return sum
  }
  return sum
}

type Ranked = { readonly candidate: Candidate; readonly rank: number }

/** Worlds of one rank: shorter names first, since the words are a larger part of them, then by name and id. */
const compare = ({ candidate: a, rank }: Ranked, { candidate: b, rank: other }: Ranked): number =>
  rank - other || a.name.length - b.name.length || compareTexts(a.name, b.name) || compareTexts(a.row.id, b.row.id)
const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/**
 * Returns the worlds of which the name, the id, a label or the address has each word of a search, at most `max`, the best first: a name
 * before the start of an id, a label, an address and a part of an id, and in a name the word itself before a start and a part. Without a
 * word it returns none.
 */
export const findWorlds = (text: string, candidates: readonly Candidate[], max: number): readonly FoundWorld[] => {
  const words = wordsOf(text)
  if (words.length === 0) return []
  // All others are compared with the last of the best, so that a word which all worlds have costs no sort of them.
  const best: Ranked[] = []
  for (const candidate of candidates) {
    const rank = rankOfAll(candidate, words)
    const last = best.length === max ? best.at(-1) : undefined
    if (rank === nowhere || (last !== undefined && rank > last.rank)) continue
    const found = { candidate, rank }
    if (last !== undefined && compare(found, last) >= 0) continue
    const at = best.findIndex((each) => compare(found, each) < 0)
    best.splice(at < 0 ? best.length : at, 0, found)
    if (best.length > max) best.pop()
  }
  return best.map(({ candidate, rank }) => ({ row: candidate.row, rank, hint: hintOf(candidate, words) }))
}

const hintOf = (candidate: Candidate, words: readonly string[]): string => {
  const word = words.find((each) => {
    const rank = rankIn(candidate, each)
    return rank === inLabel || rank === inAddress
  })
  if (word === undefined) return ''
  const { labels, address } = candidate.row
  const label = Object.entries(labels).find(([key, value]) => `${key}=${value}`.toLowerCase().includes(word))
  return label === undefined ? address : label.join('=')
}
