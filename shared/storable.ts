/** The keys that could pollute a prototype. Validation would drop them silently. */
const refusedKeys = ['__proto__', 'constructor', 'prototype']

/** Reports whether Postgres can store text unchanged. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed()

/**
 * Calls `report` for each part of a JSON value that cannot be stored: a key that could pollute a prototype, text that Postgres
 * refuses, and a number that `JSON.parse` made infinite. `path` is the path of the value. The array is reused, so that a valid value
 * costs no allocation.
 */
export const findUnstorable = (
  value: unknown,
  report: (path: readonly PropertyKey[], why: string) => void,
  path: PropertyKey[] = [],
): void => {
  if (typeof value === 'string') {
    if (!isStorable(value)) report(path, unstorable)
    return
  }
  if (typeof value === 'number' && !Number.isFinite(value)) report(path, beyondDoubles)
  if (typeof value !== 'object' || value === null) return
  const keys = Array.isArray(value) ? value.keys() : Object.keys(value)
  for (const key of keys) {
    path.push(key)
    if (typeof key === 'string' && !isStorable(key)) report(path, unstorable)
    if (typeof key === 'string' && refusedKeys.includes(key)) report(path, 'key is not allowed')
    else findUnstorable(value[key as keyof typeof value], report, path)
    path.pop()
  }
}

const unstorable = 'must not contain U+0000 or a lone surrogate'
const beyondDoubles = `must be a number between ${-Number.MAX_VALUE} and ${Number.MAX_VALUE}`
