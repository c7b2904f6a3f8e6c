import { matches, parseFilter, type Term, termsOf } from './filter.ts'
import type { Key } from './filterKeys.ts'
import type { Row } from './row.ts'
import { quote } from './words.ts'

/** The keys of which a world has one value, beside those of labels. */
const single: ReadonlySet<Key | ''> = new Set(['phase', 'reason', 'profile', 'region', 'group', 'project'])

/** The most words that are compared, and that are tested alone. */
const maxWords = 10

/** Says why no world matches a filter, as far as that can be known, in sentences. `rows` are all worlds. */
export const explainNoMatch = (text: string, rows: readonly Row[]): string[] => {
  const terms = termsOf(text)
    .filter(({ values }) => values.length > 0)
    .slice(0, maxWords)
  const conflict = terms.flatMap((term, at) => terms.slice(at + 1).flatMap((other) => conflictOf(term, other)))[0]
  if (conflict !== undefined) return [conflict]
  return terms.flatMap((term) => {
    const alone = parseFilter(term.text)
    if (rows.some((row) => matches(alone, row))) return []
    const label = unknownLabel(term, rows)
    if (label !== undefined) return [`No world has the label ${label}.`]
    return terms.length === 1 ? [] : [`No world matches ${term.text}, even without the other words.`]
  })
}

/** Two words can never match together if they want other values of the same thing. */
const conflictOf = (a: Term, b: Term): string[] => {
  const field = fieldOf(a)
  if (field === undefined || field !== fieldOf(b)) return []
  const isSame = (one: string, other: string): boolean => {
    const [left, right] = [one.toLowerCase(), other.toLowerCase()]
    // Some keys compare only the start.
    return left === right || (a.key !== 'label' && (left.startsWith(right) || right.startsWith(left)))
  }
  if (a.values.some((one) => b.values.some((other) => isSame(one, other)))) return []
  const either = [...a.values, ...b.values.map((value) => value.slice(a.key === 'label' ? field.length : 0))]
  return [`No world has both ${a.text} and ${b.text}. Write ${a.key}:${either.map(quote).join(',')} for either.`]
}

/** Returns the thing of which a word selects values, such as `phase` or the label `team=`. Undefined if a world may have several. */
const fieldOf = ({ key, values, isNegated }: Term): string | undefined => {
  if (isNegated || values.includes('')) return undefined
  if (key !== 'label') return single.has(key) ? key : undefined
  const names = new Set(values.map((value) => value.slice(0, value.indexOf('=') + 1).toLowerCase()))
  const [name = ''] = names
  return names.size === 1 && name !== '' && !values.some((value) => value.length === name.length) ? name : undefined
}

const unknownLabel = ({ key, values, isNegated }: Term, rows: readonly Row[]): string | undefined => {
  if (key !== 'label' || isNegated) return undefined
  return values
    .map((value) => value.split('=')[0] ?? '')
    .find(
      (name) => name !== '' && !rows.some(({ labels }) => Object.keys(labels).some((each) => isSameText(each, name))),
    )
}

const isSameText = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase()
