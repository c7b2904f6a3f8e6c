import { type Field, fields } from './fields.ts'
import type { Version } from './version.ts'

/** The edits of a world that are not saved. */
export type Draft = {
  /** The version that the first edit began from. */
  readonly began: Version
  /**
   * The version that the edits apply to, whose tag the PATCH names. It follows the newest one, but not over a change of an edited
   * setting that the user has not decided about.
   */
  readonly base: Version
  /** The texts of the edited settings, by id. Each differs from that of the base. */
  readonly texts: Readonly<Record<string, string>>
  /** The texts of others that the user has decided to replace, by id. */
  readonly refused: Readonly<Record<string, string>>
}

/**
 * Returns the draft after an edit of a setting, or undefined if nothing is edited any more. A capacity that is the number of the profile
 * is edited with it, as the API would do.
 */
export const editField = (draft: Draft | undefined, latest: Version, id: string, text: string): Draft | undefined => {
  const before = draft ?? { began: latest, base: latest, texts: {}, refused: {} }
  const more = id === profile && followsProfile(before) ? { [capacity]: numberOf(text) } : {}
  return followLatest({ ...before, texts: { ...before.texts, [id]: text, ...more } }, latest)
}

const [profile, capacity] = ['networking.scaling.profile', 'admission.capacity']

/** Returns the number in the name of a profile, which is its capacity. */
const numberOf = (name = ''): string => name.replace('Capacity', '')

/** Reports whether the capacity of a draft is that of its profile. */
export const followsProfile = ({ base, texts }: Pick<Draft, 'base' | 'texts'>): boolean =>
  (texts[capacity] ?? base.texts[capacity]) === numberOf(texts[profile] ?? base.texts[profile])

/**
 * Returns the draft with the newest version: without the edits that others have made too, and based on that version unless a conflict
 * is open. Undefined if nothing is edited any more.
 */
export const followLatest = (draft: Draft, latest: Version): Draft | undefined => {
  const left = Object.entries(draft.texts).filter(([id, text]) => text !== latest.texts[id])
  if (left.length === 0) return undefined
  const next = { ...draft, texts: Object.fromEntries(left) }
  return conflictsOf(next, latest).length > 0 ? next : { ...next, base: latest, refused: {} }
}

/** Returns the edited settings that others have changed to something else, about which the user has not decided. */
export const conflictsOf = ({ base, texts, refused }: Draft, latest: Version): readonly Field[] =>
  fields.filter(
    ({ id }) => texts[id] !== undefined && latest.texts[id] !== base.texts[id] && refused[id] !== latest.texts[id],
  )

/** Returns the settings that others have changed since the draft began, and that it does not edit. */
export const changedByOthers = ({ began, texts }: Draft, latest: Version): readonly Field[] =>
  fields.filter(({ id }) => texts[id] === undefined && latest.texts[id] !== began.texts[id])

/** Decides a conflict for the edit of the user. */
export const keepMine = (draft: Draft, latest: Version, id: string): Draft | undefined =>
  followLatest({ ...draft, refused: { ...draft.refused, [id]: latest.texts[id] ?? '' } }, latest)

/** Drops the edit of a setting: for a change of others, or without one. */
export const dropEdit = (draft: Draft, latest: Version, id: string): Draft | undefined => {
  const { [id]: _, ...others } = draft.texts
  const { [capacity]: __, ...texts } = others
  if (id !== profile || !followsProfile(draft)) return followLatest({ ...draft, texts: others }, latest)
  return followLatest({ ...draft, texts }, latest)
}

/**
 * Returns what is left of a draft after a save: the edits since `sent`, an undone one included. They begin from the saved version, which
 * may have what was sent in another form.
 */
export const afterSave = (now: Draft | undefined, sent: Draft, saved: Version): Draft | undefined => {
  const undone = Object.keys(sent.texts).map((id) => [id, sent.base.texts[id] ?? ''] as const)
  const texts = { ...Object.fromEntries(undone), ...now?.texts }
  const left = Object.entries(texts).filter(([id, text]) => text !== sent.texts[id])
  return followLatest({ began: saved, base: saved, texts: Object.fromEntries(left), refused: {} }, saved)
}

/** Returns the edited settings, in the order of the page. */
export const editedFields = ({ texts }: Draft): readonly Field[] => fields.filter(({ id }) => texts[id] !== undefined)
