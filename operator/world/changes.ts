import { isDeepStrictEqual } from 'node:util'

/**
 * What differs between two values, as paths such as `run.readyAt`; objects are looked into up to `depth`, lists are not.
 * For log lines: the paths tell what changed, and no value is shown.
 */
export const changedPaths = (before: unknown, after: unknown, depth = 2): string[] => {
  if (isDeepStrictEqual(before, after)) return []
  const [a, b] = [fieldsOf(before), fieldsOf(after)]
  if (a === undefined || b === undefined || depth === 0) return ['']
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort()
  return names.flatMap((name) =>
    changedPaths(a[name], b[name], depth - 1).map((path) => (path === '' ? name : `${name}.${path}`)),
  )
}

const fieldsOf = (value: unknown): Record<string, unknown> | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
