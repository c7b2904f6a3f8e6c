import type { KubeObject } from '#shared/kube/objects.ts'
import type { Reflector } from '#shared/kube/reflector.ts'

/** The uids of objects that were deleted. A uid is never used again, so an object with one of these uids no longer exists. */
export type DeletedUids = { has(uid: string): boolean }

/** More than the deletion of one organization removes. So many uids take 0.5 MB. */
const defaultMax = 10_000

/** Remembers the uids of the last `max` objects that the cache has seen deleted. */
export const trackDeletedUids = (
  cache: Pick<Reflector<KubeObject>, 'onChange'>,
  max: number = defaultMax,
): DeletedUids => {
  const uids = new Set<string>()
  cache.onChange(({ type, object }) => {
    const { uid } = object.metadata
    if (type !== 'deleted' || uid === undefined) return
    uids.add(uid)
    const [oldest] = uids
    if (uids.size > max && oldest !== undefined) uids.delete(oldest)
  })
  return uids
}
