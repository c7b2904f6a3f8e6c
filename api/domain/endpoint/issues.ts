import type * as z from 'zod'
import { type FaultList, maxListedFaults } from '#api/platform/http/faults.ts'
import { pointer } from '#api/platform/http/problem.ts'

/** The schemas from which an unknown field of a body is explained. */
export type FieldHints = {
  readonly body?: z.ZodType | undefined
  /** The body that creates the resource. A field that only it has cannot be changed. */
  readonly created?: z.ZodObject | undefined
  /** The response. A field that only it has is read-only. */
  readonly answer?: z.ZodType | undefined
}

type Issue = z.core.$ZodIssue
type Path = readonly PropertyKey[]

/** Adds the issues of zod to a list of faults, in the words of the API. The issues need `reportInput`. */
export const addIssues = (
  faults: FaultList,
  issues: readonly Issue[],
  prefix: string,
  hints: FieldHints = {},
): void => {
  for (const issue of issues) addIssue(faults, issue, { prefix, hints, at: [] })
}

type Place = { readonly prefix: string; readonly hints: FieldHints; readonly at: Path }

const addIssue = (faults: FaultList, issue: Issue, place: Place): void => {
  const path = [...place.at, ...issue.path]
  if (issue.code === 'unrecognized_keys') {
    for (const key of issue.keys) {
      // The first faults are listed and the others are only counted.
      const message = faults.total() < maxListedFaults ? explainUnknown(key, path, place.hints) : ''
      faults.add([...path, key], message, place.prefix)
    }
  } else if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    addUnionIssue(faults, issue, { ...place, at: path })
  } else {
    const isMissing = (issue.code === 'invalid_type' || issue.code === 'invalid_value') && issue.input === undefined
    faults.add(path, isMissing ? 'required' : issue.message, place.prefix)
  }
}

/** Adds the issues of the branch that is nearest to the input: the branch with the fewest unknown fields. */
const addUnionIssue = (faults: FaultList, { errors }: z.core.$ZodIssueInvalidUnion, place: Place): void => {
  const branches = errors.map((issues) => ({ issues, unknown: issues.flatMap(unknownKeys) }))
  const [nearest] = branches.toSorted((a, b) => a.unknown.length - b.unknown.length)
  if (nearest === undefined) return
  const missing = branches.map(({ issues }) => issues.filter(isMissingField).map(({ path }) => String(path[0])))
  const others = branches.filter((branch) => branch !== nearest)
  if (
    others.some(({ unknown }) => unknown.length === nearest.unknown.length) &&
    missing.every(({ length }) => length > 0)
  ) {
    faults.add(place.at, `must have ${missing.map(describeFields).join(', or ')}`, place.prefix)
    return
  }
  for (const issue of nearest.issues) {
    if (issue.code !== 'unrecognized_keys') addIssue(faults, issue, place)
    else for (const key of issue.keys) faults.add([...place.at, ...issue.path, key], clashOf(key, others), place.prefix)
  }
}

type Branch = { readonly issues: readonly Issue[]; readonly unknown: readonly string[] }

/** Explains a field that the nearest branch does not know. Another branch may know it. */
const clashOf = (key: string, others: readonly Branch[]): string => {
  const owner = others.find(({ unknown }) => !unknown.includes(key))
  return owner === undefined ? 'unknown field' : `cannot be combined with ${owner.unknown.join(' and ')}`
}

const unknownKeys = (issue: Issue): string[] =>
  issue.code === 'unrecognized_keys' && issue.path.length === 0 ? issue.keys : []

const isMissingField = ({ code, path, input }: Issue): boolean =>
  code === 'invalid_type' && path.length === 1 && input === undefined

const describeFields = (names: readonly string[]): string =>
  names.length === 1 ? `the field ${names[0]}` : `the fields ${names.join(' and ')}`

const explainUnknown = (key: string, path: Path, { body, created, answer }: FieldHints): string => {
  if (path.length > 0) return unknownField
  if (created !== undefined && key in created.shape) return 'cannot be changed'
  const places = body === undefined ? [] : placesOf(body, key)
  if (places.length > 0) return `${unknownField}; it belongs at ${places.join(' or ')}`
  return answer !== undefined && 'shape' in answer && key in (answer.shape as object) ? 'is read-only' : unknownField
}

const unknownField = 'unknown field'

/** The depth of the search for fields with the same name. */
const maxDepth = 4

/** Returns the JSON Pointers of the fields with a name below the top level of a schema. */
const placesOf = (schema: z.core.$ZodType, name: string, path: readonly string[] = []): string[] => {
  const { def } = (schema as z.core.$ZodTypes)._zod
  if ('innerType' in def) return placesOf(def.innerType, name, path)
  if (def.type !== 'object' || path.length === maxDepth) return []
  return Object.entries(def.shape).flatMap(([field, inner]) => [
    ...(field === name && path.length > 0 ? [pointer([...path, field])] : []),
    ...placesOf(inner, name, [...path, field]),
  ])
}
