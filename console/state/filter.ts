import { findKey, type Key, keyTests, keyValues } from './filterKeys.ts'
import { parseInstant } from './instant.ts'
import { remember } from './remember.ts'
import type { Row } from './row.ts'
import { quote, splitValues, splitWords, unquote } from './words.ts'

/** A word of a filter. It selects the worlds that have one of its values, or none of them if it is negated. */
export type Term = {
  /** The word as it is written. */
  readonly text: string
  /** Empty for free text. */
  readonly key: Key | ''
  readonly values: readonly string[]
  readonly isNegated: boolean
}

/** A word that probably means something else than its author thinks. The message says what to do. */
export type FilterFault = { readonly text: string; readonly message: string }

/** The meaning of the text in the filter field. */
export type Filter = {
  readonly faults: readonly FilterFault[]
  /** The test of each term. A world must pass all of them. */
  readonly tests: readonly ((row: Row) => boolean)[]
}

/**
 * Parses a filter such as `phase:Error,Starting -label:team=events "two words"`. Never throws: a word with an unknown key is free text
 * and has a fault. A key without a value selects all worlds, and `build:""` those without a build.
 */
export const parseFilter = (text: string): Filter => {
  const terms = termsOf(text)
  return { faults: terms.flatMap(faultsOf), tests: terms.map(toTest) }
}

/** Reports whether a filter selects a world. */
export const matches = ({ tests }: Filter, row: Row): boolean => tests.every((test) => test(row))

/** Returns the terms of a filter, one for each of its words. */
export const termsOf = (text: string): Term[] => splitWords(text).map(parseTerm)

const keyed = /^-?(\w+):(.*)$/s

const parseTerm = (text: string): Term => {
  const isNegated = text.startsWith('-')
  const [, name = '', rest = ''] = keyed.exec(text) ?? []
  const key = findKey(name)
  if (key !== undefined) return { text, key, values: splitValues(rest).map(unquote), isNegated }
  const word = unquote(isNegated ? text.slice(1) : text)
  return { text, key: '', values: word === '' ? [] : [word], isNegated }
}

const toTest = ({ key, values, isNegated }: Term): ((row: Row) => boolean) => {
  // A word without a value is being typed.
  if (values.length === 0) return () => true
  const has = key === '' ? hasText : keyTests[key]
  const wanted = values.map((value) => value.toLowerCase())
  return (row) => wanted.some((value) => has(row, value)) !== isNegated
}

const hasText = (row: Row, value: string): boolean => textOf(row).includes(value)

const textOf = remember(({ name, id, labels, mapName, build, reason, message, address }) => {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`)
  return [name, id, ...pairs, mapName, build, reason, message, address].join('\n').toLowerCase()
})

const faultsOf = ({ text, key, values }: Term): FilterFault[] => {
  if (key === 'started') {
    const unknown = values.filter((value) => value !== '' && Number.isNaN(parseInstant(value)))
    if (unknown.length === 0) return []
    return [{ text, message: `${unknown.join(', ')} is not an instant. Use one such as 2026-11-28T14:00:00Z.` }]
  }
  if (key !== '') {
    const possible = keyValues[key] ?? []
    const unknown = values.filter(
      (value) => !possible.some((each) => each.toLowerCase().startsWith(value.toLowerCase())),
    )
    if (possible.length === 0 || unknown.length === 0) return []
    return [{ text, message: `No world has the ${key} ${unknown.join(', ')}. Use ${possible.join(', ')}.` }]
  }
  const [, name = '', rest = ''] = keyed.exec(text) ?? []
  // Addresses and builds are free text with a colon: wss://host, host:7777, stable:1.2.
  if (name === '' || /^\/\/|^\d/.test(rest)) return []
  const known = Object.keys(keyTests).join(', ')
  return [{ text, message: `${name} is not a key, so ${text} is searched as text. The keys are ${known}.` }]
}

/**
 * Returns the text of a filter with a value added, or removed if the filter selects it already. A value joins the others of its key,
 * except that a world can have several labels at once.
 */
export const toggleTerm = (text: string, key: Key, value: string): string => {
  const has = (term: Term): boolean => term.key === key && term.values.some((each) => isSame(each, value))
  const terms = termsOf(text)
  const isSelected = terms.some((term) => !term.isNegated && has(term))
  const left = terms.map((term) => (has(term) ? withValues(term, without(term.values, value)) : term))
  const joined = left.find((term) => term.key === key && !term.isNegated && term.values.length > 0)
  if (isSelected) return join(left)
  if (key === 'label' || joined === undefined) return join([...left, toTerm(key, [value])])
  return join(left.map((term) => (term === joined ? withValues(term, [...term.values, value]) : term)))
}

/** Returns the text of a filter without the term at an index of `termsOf`. */
export const removeTerm = (text: string, index: number): string => join(termsOf(text).toSpliced(index, 1))

const isSame = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase()
const without = (values: readonly string[], value: string): string[] => values.filter((each) => !isSame(each, value))

const toTerm = (key: Key, values: readonly string[]): Term =>
  withValues({ text: '', key, values, isNegated: false }, values)

const withValues = (term: Term, values: readonly string[]): Term => ({
  ...term,
  values,
  text: values.length === 0 ? '' : `${term.isNegated ? '-' : ''}${term.key}:${values.map(quote).join(',')}`,
})

const join = (terms: readonly Term[]): string =>
  terms
    .map(({ text }) => text)
    .filter((text) => text !== '')
    .join(' ')
