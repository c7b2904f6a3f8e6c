import { isDeepStrictEqual } from 'node:util'
import type * as z from 'zod'
import { isRecord } from '#shared/kube/errors.ts'
import { findUnstorable } from '#shared/storable.ts'

/** A field that a schema does not accept: its path, and the reason as the end of a sentence. */
export type UnreadableField = { readonly path: readonly string[]; readonly why: string }

/** A value as far as a schema accepts it. The unreadable fields are unset in it. */
export type Lenient<T> = { readonly value: T; readonly unreadable: readonly UnreadableField[] }

/** Each round unsets at least one field. A value with more faults than this becomes the fallback. */
const maxRounds = 16

/**
 * Reads an object with a schema and never throws. Fields that the schema refuses or that cannot be stored are unset, such as a map's
 * key that is longer than the CRD can forbid. Required fields that are missing come from `fallback`, which the schema must accept.
 */
export const readLeniently = <S extends z.ZodType>(
  schema: S,
  source: unknown,
  fallback: z.input<S>,
): Lenient<z.output<S>> => {
  const unreadable: UnreadableField[] = []
  let value = source
  const unset = (path: readonly PropertyKey[], why: string): void => {
    const field = fieldAt(path)
    if (unreadable.some((known) => isDeepStrictEqual(known.path, field))) return
    unreadable.push({ path: field, why })
    value = replaceField(value, field, fallback)
  }
  findUnstorable(source, unset)
  for (let round = 0; round < maxRounds; round += 1) {
    const result = schema.safeParse(value)
    if (result.success) return { value: result.data, unreadable }
    for (const issue of result.error.issues) {
      // The fault of a map's key is nested.
      unset(issue.path, (issue.code === 'invalid_key' ? issue.issues[0]?.message : undefined) ?? issue.message)
    }
  }
  return { value: schema.parse(fallback), unreadable: [...unreadable, { path: [], why: 'has too many faults' }] }
}

/** A field of a spec that counts as a whole or not at all. */
const indivisible = 'granted'

/** Returns the path of the field that holds a fault. A list is one field with its items. */
const fieldAt = (path: readonly PropertyKey[]): string[] => {
  if (path[0] === indivisible) return [indivisible]
  const item = path.findIndex((part) => typeof part === 'number')
  return (item < 0 ? path : path.slice(0, item)).map(String)
}

/** Returns the value with a field as in the fallback, or without it. */
const replaceField = (value: unknown, [name, ...rest]: readonly string[], fallback: unknown): unknown => {
  if (name === undefined || !isRecord(value)) return fallback
  const inner = isRecord(fallback) && Object.hasOwn(fallback, name) ? fallback[name] : undefined
  const replaced = rest.length === 0 || !isRecord(value[name]) ? inner : replaceField(value[name], rest, inner)
  const others = Object.entries(value).filter(([key]) => key !== name)
  return Object.fromEntries(replaced === undefined ? others : [...others, [name, replaced]])
}
