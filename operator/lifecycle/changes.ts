import { isDeepStrictEqual } from 'node:util'

/**
 * Returns the paths that differ between two values, such as `run.readyAt`, at most `depth` fields deep; lists are compared
 * as a whole. For log lines: it shows no values.
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
