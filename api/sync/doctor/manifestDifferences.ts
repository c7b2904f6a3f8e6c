import { isDeepStrictEqual } from 'node:util'

/** Values that the API server writes where a manifest has none, by the name of the field. */
const serverDefaults: Readonly<Record<string, unknown>> = {
  conversion: { strategy: 'None' },
  matchPolicy: 'Equivalent',
  namespaceSelector: {},
  objectSelector: {},
  scope: '*',
}

/** A placeholder of the manifests whose value only the installation knows: a CEL list of texts. */
const unknownList = ['$', '{', 'restoreGroups', '}'].join('')
const listPattern = /^\[('[^']*'(, ?'[^']*')*)?\]$/

/** The most fields that are returned for one object. */
const maxFields = 5

/** Returns the JSON Pointers of fields in which a live object differs from its manifest, at most 5. */
export const findManifestDifferences = (desired: unknown, live: unknown): string[] =>
  differences(desired, live, '').slice(0, maxFields)

const differences = (desired: unknown, live: unknown, pointer: string): string[] => {
  if (Array.isArray(desired) && Array.isArray(live) && desired.length === live.length) {
    return desired.flatMap((each, at) => differences(each, live[at], `${pointer}/${at}`))
  }
  if (isRecord(desired) && isRecord(live)) {
    return [...new Set([...Object.keys(desired), ...Object.keys(live)])].sort().flatMap((name) => {
      if (!(name in desired) && isDeepStrictEqual(live[name], serverDefaults[name])) return []
      return differences(desired[name], live[name], `${pointer}/${name}`)
    })
  }
  return isEqualValue(desired, live) ? [] : [pointer]
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isEqualValue = (desired: unknown, live: unknown): boolean => {
  if (typeof desired !== 'string' || typeof live !== 'string') return isDeepStrictEqual(desired, live)
  const [before, after] = desired.split(unknownList)
  if (before === undefined || after === undefined) return desired === live
  const list = live.slice(before.length, live.length - after.length)
  return live.startsWith(before) && live.endsWith(after) && listPattern.test(list)
}
