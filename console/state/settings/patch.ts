import type { InputFault } from '#client/error.ts'
import type { PatchWorld } from '#client/operations.ts'
import { type Draft, editedFields, followsProfile } from './draft.ts'
import type { Field } from './fields.ts'
import { parseText } from './forms.ts'
import { settingsOf } from './version.ts'

/** The faults of settings, by id. */
export type Faults = Readonly<Record<string, readonly string[]>>

/**
 * Returns the body of the PATCH that makes the edits of a draft, or the faults of its texts. The body has only the top-level members
 * with an edit, whole, since the API replaces objects as a whole.
 */
export const patchOf = (draft: Draft): { readonly patch: PatchWorld } | { readonly faults: Faults } => {
  const settings = structuredClone(settingsOf(draft.base.world))
  const faults: Record<string, readonly string[]> = {}
  const edited = editedFields(draft)
  for (const { id, kind } of edited) {
    const parsed = parseText(kind, draft.texts[id] ?? '')
    if ('fault' in parsed) faults[id] = [parsed.fault]
    else setAt(settings, id.split('.'), parsed.value)
  }
  if (Object.keys(faults).length > 0) return { faults }
  const members = new Set(edited.map(({ id }) => id.split('.')[0] ?? ''))
  // The API lets an absent capacity follow the profile. A present one stays, also with a new profile.
  if (draft.texts['networking.scaling.profile'] !== undefined) members.add('admission')
  else if (draft.texts['admission.capacity'] === undefined && followsProfile(draft)) delete settings.admission.capacity
  return { patch: Object.fromEntries(Object.entries(settings).filter(([name]) => members.has(name))) }
}

// JSON leaves out what is undefined.
const setAt = (target: object, [name = '', ...rest]: readonly string[], value: unknown): void => {
  const members = target as Record<string, unknown>
  if (rest.length > 0) setAt(members[name] as object, rest, value)
  else members[name] = value
}

/**
 * Returns the faults that the API found in a body, beside the edited setting that each is about. `others` are about none of them.
 */
export const faultsBeside = (
  errors: readonly InputFault[],
  edited: readonly Field[],
): { readonly faults: Faults; readonly others: readonly InputFault[] } => {
  const faults: Record<string, string[]> = {}
  const others: InputFault[] = []
  for (const error of errors) {
    const field =
      edited.find(({ id }) => isWithin(error.path, pointerOf(id))) ??
      edited.find(({ id }) => isWithin(pointerOf(id), error.path))
    if (field === undefined) others.push(error)
    else {
      const rest = error.path.slice(pointerOf(field.id).length)
      faults[field.id] = [...(faults[field.id] ?? []), rest === '' ? error.message : `${rest} ${error.message}`]
    }
  }
  return { faults, others }
}

const pointerOf = (id: string): string => `/${id.replaceAll('.', '/')}`
const isWithin = (pointer: string, outer: string): boolean => pointer === outer || pointer.startsWith(`${outer}/`)
