import type { InputFault } from '#client/error.ts'
import type { PatchWorld } from '#client/operations.ts'
import { type Draft, editedFields, followsProfile } from './draft.ts'
import { type Field, restartMinutes, scheduleFields, scheduleZone } from './fields.ts'
import { parseText } from './forms.ts'
import { settingsOf, valueAt } from './version.ts'

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
  const { at } = settings.runtime.schedule?.restart ?? {}
  if (at === undefined && isSet(draft, restartMinutes)) faults[restartMinutes] ??= ['needs a scheduled restart']
  if (Object.keys(faults).length > 0) return { faults }
  leaveOutSchedule(settings.runtime, draft)
  const members = new Set(edited.map(({ id }) => id.split('.')[0] ?? ''))
  // The API lets an absent capacity follow the profile. A present one stays, also with a new profile.
  if (draft.texts['networking.scaling.profile'] !== undefined) members.add('admission')
  else if (draft.texts['admission.capacity'] === undefined && followsProfile(draft)) delete settings.admission.capacity
  return { patch: Object.fromEntries(Object.entries(settings).filter(([name]) => members.has(name))) }
}

// JSON leaves out what is undefined.
const setAt = (target: object, [name = '', ...rest]: readonly string[], value: unknown): void => {
  const members = target as Record<string, unknown>
  if (rest.length === 0) members[name] = value
  else {
    members[name] ??= {}
    setAt(members[name] as object, rest, value)
  }
}

const isSet = ({ texts }: Draft, id: string): boolean => (texts[id] ?? '').trim() !== ''

/** Leaves out what is nothing without times. An edited time zone stays, so that the API says what is missing. */
const leaveOutSchedule = (runtime: NonNullable<PatchWorld['runtime']>, draft: Draft): void => {
  const { schedule } = runtime
  if (schedule === undefined) return
  if (schedule.restart?.at === undefined) delete schedule.restart
  const hasTimes = [schedule.start, schedule.stop, schedule.restart].some((each) => each !== undefined)
  if (!hasTimes && !isSet(draft, scheduleZone)) delete runtime.schedule
}

/** Returns the settings that a patch removes although they are not edited: those of a schedule whose times are. */
export const removedWith = ({ base, texts }: Draft, patch: PatchWorld): readonly Field[] =>
  patch.runtime === undefined
    ? []
    : scheduleFields.filter(
        ({ id }) => texts[id] === undefined && base.texts[id] !== '' && valueAt(patch, id) === undefined,
      )

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
