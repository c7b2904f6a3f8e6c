import { isDeepStrictEqual } from 'node:util'
import type * as z from 'zod'
import { isRecord } from '#shared/kube/errors.ts'
import type { ObjectMeta } from '#shared/kube/objects.ts'
import { fieldManagers } from '#shared/resources/group.ts'
import type { UnreadableField } from '#shared/resources/lenient.ts'
import type { Readable } from '#shared/resources/read.ts'
import { covers, type Leaves, leavesOf, nameOf, objectOf, pointerOf } from './leaves.ts'

/** A condition on edits of some fields. The edits of one rule are adopted together or not at all. */
export type Rule<Spec> = {
  /** JSON Pointers of the fields. */
  readonly fields: readonly string[]
  /** An edit of one of the fields is put back as a whole if the row wins in, or has changed, another part of the field. */
  readonly isWhole?: true
  /**
   * Returns why the spec with the edits is not allowed, as the end of a sentence, or undefined if it is allowed. `hasRefusal` reports
   * whether a rule before this one refused an edit.
   */
  readonly refuse: (edited: Spec, hasRefusal: boolean) => string | undefined
}

/** The merged spec, and the edited leaves that are adopted or put back. */
export type Merge<Spec> = {
  /** The spec of the row with the adopted edits. */
  readonly spec: Spec
  /** The leaves that are adopted: only the live resource changed them, and their rule allows it. */
  readonly adopted: readonly string[]
  /** The leaves that the next push puts back: refused edits, unreadable fields, and leaves in which the row wins. */
  readonly putBack: readonly string[]
  /** A sentence for each refused edit and unreadable field. */
  readonly reasons: readonly string[]
}

/** The three sides of a merge: what was last written or acknowledged, the row now, and the resource now. */
export type Sides<Spec> = {
  readonly base: Spec
  readonly row: Spec
  readonly live: Spec
  readonly unreadable: readonly UnreadableField[]
  /** Reports whether nobody edited a leaf and the definition of the resource lacked its field, if that is known. */
  readonly isDropped?: (pointer: string) => boolean
}

/** The fields that only the API writes. They are never merged: the row's values are pushed. */
const ownPointers = ['/revision', '/granted', '/nextAction']

/**
 * Merges the edits of a live resource into its row, leaf by leaf. A leaf that only the resource changed is adopted, unless a
 * rule refuses it. A leaf that only the row changed stays. If both changed a leaf, or the definition dropped it, the row wins.
 */
export const mergeSpecs = <S extends z.ZodType<object>>(
  schema: S,
  sides: Sides<z.output<S>>,
  rules: readonly Rule<z.output<S>>[],
): Merge<z.output<S>> => {
  const { edited, overruled } = overruleWhole(compare(sides), rules)
  const refused: string[] = []
  const adopted: string[] = []
  const reasons = sides.unreadable.map(
    ({ path, why }) => `${nameOf(pointerOf(path))} cannot be read and was put back: ${why}.`,
  )
  let spec = sides.row
  for (const { pointers, refuse } of groupEdits(edited, rules)) {
    const result = schema.safeParse(objectOf(withLeaves(leavesOf(spec), leavesOf(sides.live), pointers)))
    const why = result.success
      ? refuse(result.data, reasons.length > 0)
      : (result.error.issues[0]?.message ?? 'the value is not valid')
    if (result.success && why === undefined) {
      spec = result.data
      adopted.push(...pointers)
    } else {
      refused.push(...pointers)
      reasons.push(`${listNames(pointers)} put back: ${why}.`)
    }
  }
  const unreadable = sides.unreadable.map(({ path }) => pointerOf(path))
  return { spec, adopted, putBack: [...refused, ...overruled, ...unreadable], reasons }
}

/** Returns the merge with every edit put back, for a merged spec that the row cannot push. `why` is the reason. */
export const refuseAll = <Spec>(merge: Merge<Spec>, row: Spec, why: string): Merge<Spec> => ({
  spec: row,
  adopted: [],
  putBack: [...merge.adopted, ...merge.putBack],
  reasons: [...merge.reasons, `${listNames(merge.adopted)} put back: ${why}.`],
})

/** Reports whether the live resource has any edit to merge. */
export const hasEdits = <Spec extends object>(sides: Sides<Spec>): boolean => {
  const { edited, overruled } = compare(sides)
  return edited.length + overruled.length + sides.unreadable.length > 0
}

/** Sorts the leaves that the live resource changed. An unreadable field counts as unchanged. */
const compare = <Spec extends object>({ base, row, live, unreadable, isDropped }: Sides<Spec>) => {
  // The usual case: only the status has changed.
  if (isDeepStrictEqual(base, live)) return { edited: [], overruled: [], changed: [] }
  const [before, ours, theirs] = [leavesOf(base), leavesOf(row), leavesOf(live)]
  const hidden = unreadable.map(({ path }) => pointerOf(path))
  const edited: string[] = []
  const overruled: string[] = []
  for (const pointer of new Set([...before.keys(), ...theirs.keys()])) {
    if ([...ownPointers, ...hidden].some((field) => covers(field, pointer))) continue
    const [was, own, now] = [before.get(pointer), ours.get(pointer), theirs.get(pointer)]
    if (isDeepStrictEqual(now, was) || isDeepStrictEqual(now, own)) continue
    if (isDeepStrictEqual(own, was) && !isDropped?.(pointer)) edited.push(pointer)
    else overruled.push(pointer)
  }
  const changed = [...new Set([...before.keys(), ...ours.keys()])].filter(
    (pointer) => !isDeepStrictEqual(ours.get(pointer), before.get(pointer)),
  )
  return { edited: edited.sort(), overruled, changed }
}

type Compared = Record<'edited' | 'overruled', readonly string[]>

/** Overrules the edits of a field of a rule that `isWhole`, if the row wins in another part of the field or changed one. */
const overruleWhole = <Spec>(
  { edited, overruled, changed }: ReturnType<typeof compare>,
  rules: readonly Rule<Spec>[],
): Compared => {
  const lost = rules
    .flatMap(({ fields, isWhole }) => (isWhole ? fields : []))
    .filter((field) => [...overruled, ...changed].some((pointer) => covers(field, pointer)))
  const isLost = (pointer: string): boolean => lost.some((field) => covers(field, pointer))
  return {
    edited: edited.filter((pointer) => !isLost(pointer)),
    overruled: [...overruled, ...edited.filter(isLost)],
  }
}

type Group<Spec> = { readonly pointers: readonly string[]; readonly refuse: Rule<Spec>['refuse'] }

/** Groups the edits by rule, in the order of the rules. An edit without a rule is allowed and a group of its own. */
const groupEdits = <Spec>(edited: readonly string[], rules: readonly Rule<Spec>[]): Group<Spec>[] => {
  const ruleOf = (pointer: string) => rules.find(({ fields }) => fields.some((field) => covers(field, pointer)))
  const free = edited.filter((pointer) => ruleOf(pointer) === undefined)
  const ruled = rules.map((rule) => ({
    pointers: edited.filter((pointer) => ruleOf(pointer) === rule),
    refuse: rule.refuse,
  }))
  return [...free.map((pointer) => ({ pointers: [pointer], refuse: () => undefined })), ...ruled].filter(
    ({ pointers }) => pointers.length > 0,
  )
}

const withLeaves = (leaves: Map<string, unknown>, from: Leaves, pointers: readonly string[]): Leaves => {
  for (const pointer of pointers) {
    if (from.has(pointer)) leaves.set(pointer, from.get(pointer))
    else leaves.delete(pointer)
  }
  return leaves
}

const maxNames = 5

const listNames = (pointers: readonly string[]): string => {
  const names = pointers.slice(0, maxNames).map(nameOf)
  const more = pointers.length > maxNames ? [`${pointers.length - maxNames} more`] : []
  const all = [...names, ...more]
  return all.length === 1 ? `${all[0]} was` : `${all.slice(0, -1).join(', ')} and ${all.at(-1)} were`
}

/** Returns a sentence as the end of another one. */
export const toClause = (sentence: string | undefined): string | undefined =>
  sentence?.replace(/^The /, 'the ').replace(/\.$/, '')

/** Reports whether the API is a manager of the field of the spec at this JSON Pointer. */
export type Owns = (pointer: string) => boolean

/** A live resource as pull reads it. `owns` is known after a read with managed fields. */
export type Seen<Live> = Readable<Live> & { readonly owns?: Owns | undefined }

/** Reads from `managedFields` which fields of the spec the API manages. Others take a field over when they change it. */
export const readOwnership = ({ managedFields = [] }: ObjectMeta): Owns => {
  const specs = managedFields
    .filter(({ manager, subresource }) => manager === fieldManagers.api && !subresource)
    .map(({ fieldsV1 }) => (isRecord(fieldsV1) ? fieldsV1['f:spec'] : undefined))
  const names = (pointer: string): string[] =>
    pointer
      .split('/')
      .slice(1)
      .map((name) => `f:${name.replaceAll('~1', '/').replaceAll('~0', '~')}`)
  const find = (field: unknown, name: string): unknown =>
    isRecord(field) && Object.hasOwn(field, name) ? field[name] : undefined
  return (pointer) => specs.some((spec) => names(pointer).reduce(find, spec) !== undefined)
}

/** A spec with the revision that the API wrote. */
export type Revisioned = { readonly revision?: number }

/**
 * Returns the base: the recorded spec if the resource has the recorded revision, or the row's spec if it has the row's
 * revision. At any other revision, a push was not recorded. The base is then taken from the fields that the API still
 * manages, because they have the values that it wrote. That needs `owns`; without it the result is undefined.
 */
export const findBase = <Spec extends Revisioned & object>(
  sides: { readonly live: Spec; readonly row: Spec; readonly applied: Spec | null },
  owns: Owns | undefined,
): Spec | undefined => {
  const { live, row, applied } = sides
  const revision = live.revision ?? 0
  if (applied !== null && (applied.revision ?? 0) === revision) return applied
  if ((row.revision ?? 0) === revision) return row
  if (owns === undefined) return undefined
  const leaves = leavesOf(applied ?? row)
  for (const [pointer, value] of leavesOf(live)) if (owns(pointer)) leaves.set(pointer, value)
  return objectOf(leaves) as Spec
}
