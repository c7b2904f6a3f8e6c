import type { ApiKey } from '#client/operations.ts'
import { formatDuration } from './format.ts'

/** The state of a key in words. `warning` is refused or about to be, `muted` is switched off. */
export type KeyState = { readonly text: string; readonly kind: 'good' | 'warning' | 'near' | 'muted' }

/** The time before its expiry from which a key is marked. */
const nearMs = 14 * 24 * 3_600_000

/** Returns whether a key is accepted now, and for how long. */
export const stateOf = ({ isActive, expiresAt }: Pick<ApiKey, 'isActive' | 'expiresAt'>, nowMs: number): KeyState => {
  const leftMs = expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(expiresAt) - nowMs
  if (leftMs <= 0) return { text: `Expired ${formatDuration(-leftMs)} ago`, kind: 'warning' }
  const rest = leftMs === Number.POSITIVE_INFINITY ? '' : `expires in ${formatDuration(leftMs)}`
  if (!isActive) return { text: rest === '' ? 'Switched off' : `Switched off, ${rest}`, kind: 'muted' }
  if (leftMs <= nearMs) return { text: `Active, ${rest}`, kind: 'near' }
  return { text: rest === '' ? 'Active' : `Active, ${rest}`, kind: 'good' }
}

/** Reports whether a key is accepted, and its string before the last rotation too. */
export const isRotating = (
  { isActive, expiresAt, previousValidUntil }: Pick<ApiKey, 'isActive' | 'expiresAt' | 'previousValidUntil'>,
  nowMs: number,
): boolean => {
  const isAfterNow = (at: string): boolean => Date.parse(at) > nowMs
  const isAccepted = isActive && (expiresAt === undefined || isAfterNow(expiresAt))
  return isAccepted && previousValidUntil !== undefined && isAfterNow(previousValidUntil)
}

/** Returns the keys whose name, id, permissions or claims contain a text, in any case of letters. */
export const matchKeys = (keys: readonly ApiKey[], text: string): readonly ApiKey[] => {
  const wanted = text.trim().toLowerCase()
  if (wanted === '') return keys
  return keys.filter(({ displayName, documentId, permissions, claims }) =>
    [displayName, documentId, ...permissions, ...Object.keys(claims)].some((each) =>
      each.toLowerCase().includes(wanted),
    ),
  )
}
