import { phases } from './attention.ts'
import { parseInstant } from './instant.ts'
import type { Row } from './row.ts'

/** Reports whether a world has a value, which is in lower case. The empty value is that of a world without one. */
type KeyTest = (row: Row, value: string) => boolean

const comparing =
  (fits: (field: string, value: string) => boolean) =>
  (read: (row: Row) => string): KeyTest =>
  (row, value) => {
    const field = read(row).toLowerCase()
    return value === '' ? field === '' : fits(field, value)
  }

const whole = comparing((field, value) => field === value)
const start = comparing((field, value) => field.startsWith(value))
const part = comparing((field, value) => field.includes(value))

/** `key` and `key=`, while its value is being typed, select any value. */
const label: KeyTest = ({ labels }, wanted) => {
  const entries = Object.entries(labels)
  if (wanted === '') return entries.length === 0
  return entries.some(([key, value]) => {
    const name = key.toLowerCase()
    return wanted === name || wanted === `${name}=` || wanted === `${name}=${value.toLowerCase()}`
  })
}

/** The present run was requested at an instant or later. */
const since: KeyTest = ({ startedAtMs }, value) =>
  value === '' ? startedAtMs === 0 : startedAtMs > 0 && startedAtMs >= parseInstant(value)

/** A count such as `3`, or a bound such as `>0`. */
const bound = /^([<>]?)(\d*)$/

/** A sign alone, while its number is being typed, selects any count. */
const count =
  (read: (row: Row) => number | undefined): KeyTest =>
  (row, value) => {
    const field = read(row)
    if (value === '') return field === undefined
    const [, sign, digits] = bound.exec(value) ?? []
    if (digits === '') return true
    if (field === undefined || digits === undefined) return false
    const wanted = Number(digits)
    return sign === '>' ? field > wanted : sign === '<' ? field < wanted : field === wanted
  }

/** The keys of filters, in the order in which to offer them, and what they compare. */
export const keyTests = {
  phase: start(({ phase }) => phase),
  // One reason can be the start of another, such as EditRefused of EditRefusedAgain.
  reason: whole(({ reason }) => reason),
  label,
  profile: whole(({ profile }) => profile),
  region: start(({ region }) => region),
  group: start(({ group }) => group),
  map: part(({ mapName }) => mapName),
  build: part(({ build }) => build),
  address: part(({ address }) => address),
  project: whole(({ projectId }) => projectId),
  id: part(({ id }) => id),
  name: part(({ name }) => name),
  started: since,
  players: count(({ players }) => players),
  restarts: count(({ restarts }) => restarts),
} satisfies Record<string, KeyTest>

/** A key of a filter, such as that of `phase:Error`. */
export type Key = keyof typeof keyTests

/** The values of the keys that have few. */
export const keyValues: { readonly [key in Key]?: readonly string[] } = {
  phase: phases,
  region: ['Europe', 'NorthAmerica', 'AsiaPacific'] satisfies Row['region'][],
  group: ['production', 'staging', 'development'] satisfies Row['group'][],
}

type Form = { readonly fits: (value: string) => boolean; readonly words: string }
const number: Form = { fits: (value) => bound.test(value), words: 'a number. Use one such as 3, >0 or <10.' }
/** The form of the values of some keys, in words that follow "is not". */
export const keyForms: { readonly [key in Key]?: Form } = {
  started: {
    fits: (value) => !Number.isNaN(parseInstant(value)),
    words: 'an instant. Use one such as 2026-11-28T14:00:00Z.',
  },
  players: number,
  restarts: number,
}

/** Returns the key with a name, in any case. */
export const findKey = (name: string): Key | undefined => {
  const wanted = name.toLowerCase()
  return Object.hasOwn(keyTests, wanted) ? (wanted as Key) : undefined
}
