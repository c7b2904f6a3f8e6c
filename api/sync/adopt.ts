/** The value of a field that REST and kubectl can change, at a revision of the row. */
type Revisioned<T> = { readonly revision: number; readonly value: T }

/**
 * Returns the value to adopt from a live resource, or undefined if it was not edited or the row changed the field too.
 *
 * The live value is compared with the value that push wrote at the resource's revision, because the watch may show an apply
 * before its response is recorded. Otherwise a quick start, stop and start over REST would look like a stop with kubectl.
 * If the resource is at neither the row's revision nor the last recorded one, the pushed value is unknown and nothing is
 * adopted; a newer push is pending in this case.
 */
export const adoptEdit = <T>(
  live: Revisioned<T>,
  row: Revisioned<T>,
  applied: Revisioned<T> | undefined,
): T | undefined => {
  if (live.revision === row.revision) return live.value === row.value ? undefined : live.value
  if (applied?.revision !== live.revision || live.value === applied.value) return undefined
  return row.value === applied.value ? live.value : undefined
}
