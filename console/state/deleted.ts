import type { DeletedWorld } from '#client/operations.ts'
import { formatCount, formatDuration } from './format.ts'

/** Returns the deleted worlds whose name or id contains a text, in any case, those that were deleted last first. */
export const selectDeleted = (worlds: readonly DeletedWorld[], text: string): DeletedWorld[] => {
  const wanted = text.trim().toLowerCase()
  return worlds
    .filter(({ name, documentId }) => name.toLowerCase().includes(wanted) || documentId.includes(wanted))
    .sort((a, b) => Date.parse(b.deletedAt) - Date.parse(a.deletedAt))
}

/** The deleted worlds that are shown at once. */
export const maxShown = 500

/** Returns which deleted worlds are shown: the selected ones of those that were read. */
export const describeShown = (selected: number, read: number, { hasMore }: { readonly hasMore: boolean }): string => {
  const ofRead = `${formatCount(selected)} of ${formatCount(read)}${hasMore ? ' that were read. There are more' : ''}`
  if (selected <= maxShown) return ofRead
  const last = `the ${maxShown} that were deleted last are shown`
  return hasMore ? `${ofRead}. Of those that were read, ${last}` : `${ofRead}: ${last}`
}

/** Returns the time until a deleted thing is erased, such as `in 6 d 3 h`. */
export const describePurge = (purgeAt: string, nowMs: number): string => {
  const restMs = Date.parse(purgeAt) - nowMs
  return restMs > 0 ? `in ${formatDuration(restMs)}` : 'at any moment'
}
