import { isRecord } from '#shared/kube/errors.ts'
import type { ObjectMeta } from '#shared/kube/objects.ts'
import { fieldManagers } from '#shared/resources/group.ts'
import type { Readable } from '#shared/resources/read.ts'
import { leavesOf, objectOf } from './leaves.ts'
import type { Sides } from './merge.ts'

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

/** Returns the revision and the generation of a live resource, 0 if it has none. */
export const versionsOf = (live: {
  readonly metadata: ObjectMeta
  readonly spec: Revisioned
}): { liveRevision: number; generation: number } => ({
  liveRevision: live.spec.revision ?? 0,
  generation: live.metadata.generation ?? 0,
})

type Revisioned = { readonly revision?: number }

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

/**
 * Returns the three sides of the merge of a live resource into its row, or undefined if the managed fields of the resource must
 * be read first.
 */
export const findSides = <Spec extends Revisioned & object>(
  row: Spec,
  applied: Spec | null,
  { resource, unreadable, owns }: Seen<{ readonly spec: Spec }>,
): Sides<Spec> | undefined => {
  const live = resource.spec
  const base = findBase({ live, row, applied }, owns)
  return base && { base, row, live, unreadable }
}

/**
 * Returns the reason why a live resource cannot be merged now. `needsOwnership` means that a read with managed fields must come
 * first. `frozen` means that the API wrote a revision above that of the row, or that the revision is the highest possible.
 */
export const findObstacle = (
  sides: { readonly live: Revisioned; readonly row: { readonly revision: number }; readonly base: unknown },
  owns: Owns | undefined,
): 'needsOwnership' | 'frozen' | undefined => {
  const revision = sides.live.revision ?? 0
  const isAhead = revision > sides.row.revision
  if (sides.base === undefined || (isAhead && owns === undefined)) return 'needsOwnership'
  return isAhead && (owns?.('/revision') || revision >= Number.MAX_SAFE_INTEGER) ? 'frozen' : undefined
}
