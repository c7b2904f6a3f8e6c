import { findKey, type Key, keyForms, keyTests, keyValues } from './filterKeys.ts'
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

type Test = (row: Row) => boolean

/** The meaning of the text in the filter field. */
export type Filter = {
  readonly faults: readonly FilterFault[]
  /** The tests of the terms with the key `phase`, and those of the others. A world must pass all of them. */
  readonly phaseTests: readonly Test[]
  readonly otherTests: readonly Test[]
}

/**
 * Parses a filter such as `phase:Error,Starting -label:team=events "two words"`. Never throws: a word with an unknown key is free text
 * and has a fault. A key without a value selects all worlds, and `build:""` those without a build.
 */
export const parseFilter = (text: string): Filter => {
  const terms = termsOf(text)
  const [phaseTests, otherTests] = [
    terms.filter(({ key }) => key === 'phase').map(toTest),
    terms.filter(({ key }) => key !== 'phase').map(toTest),
  ]
  return { faults: terms.flatMap(faultsOf), phaseTests, otherTests }
}

/** Reports whether a filter selects a world. */
export const matches = (filter: Filter, row: Row): boolean => matchesOthers(filter, row) && matchesPhase(filter, row)

/** Reports whether the words about the phase select a world. */
export const matchesPhase = ({ phaseTests }: Filter, row: Row): boolean => phaseTests.every((test) => test(row))

/** Reports whether the words about anything but the phase select a world. */
export const matchesOthers = ({ otherTests }: Filter, row: Row): boolean => otherTests.every((test) => test(row))

/** Returns the terms of a filter, one for each of its words. */
export const termsOf = (text: string): Term[] => splitWords(text).map(parseTerm)

const keyed = /^-?(\w+):(.*)$/s

const parseTerm = (text: string): Term => {
  const isNegated = text.startsWith('-')
  const [, name = '', rest = ''] = keyed.exec(text) ?? []
  const key = findKey(name)
  if (key !== undefined) {
    const values = splitValues(rest).map(unquote)
    return { text, key, values: key === 'label' ? withKeys(values) : values, isNegated }
  }
  const word = unquote(isNegated ? text.slice(1) : text)
  return { text, key: '', values: word === '' ? [] : [word], isNegated }
}

/** Adds the key to those alternatives of labels that are only another value: `team=events,ranked`. */
const withKeys = (values: readonly string[]): string[] => {
  let before = ''
  return values.map((value) => {
    const end = value.indexOf('=') + 1
    if (end > 0) before = value.slice(0, end)
    return end > 0 || value === '' ? value : `${before}${value}`
  })
}

const toTest = ({ key, values, isNegated }: Term): Test => {
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
  const form = key === '' ? undefined : keyForms[key]
  if (form !== undefined) {
    const unknown = values.filter((value) => value !== '' && !form.fits(value))
    return unknown.length === 0 ? [] : [{ text, message: `${unknown.join(', ')} is not ${form.words}` }]
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

/** Reports whether a filter selects the worlds with a value, and no word says more. */
export const isOnly = (text: string, key: Key, value: string): boolean => {
  const [term, ...others] = termsOf(text)
  const [first = '', ...more] = term?.values ?? []
  return others.length === 0 && term?.key === key && !term.isNegated && more.length === 0 && isSame(first, value)
}

/** Returns the text of a filter for the worlds with a value alone, or no text if it is that already. */
export const toggleOnly = (text: string, key: Key, value: string): string =>
  isOnly(text, key, value) ? '' : toTerm(key, [value]).text

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
