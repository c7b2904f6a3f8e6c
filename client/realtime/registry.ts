import type { RealtimeError } from './error.ts'
import type { News } from './message.ts'
import type { Resource } from './resource.ts'
import type { Listener } from './types.ts'

/** As many as the API allows a connection. */
export const maxResources = 128

/** What is known of a resource. An error is not kept: it ends the following. */
type Known = Exclude<News, { kind: 'error' }>
type Follower = { readonly listener: Listener; told: Known | undefined }
type Followed = {
  readonly resource: Resource
  readonly followers: Set<Follower>
  known: Known | undefined
  /** The newest version that was told; it never goes back, whatever else becomes known. */
  newest: string
}

/**
 * Whether news is to be told. Messages of two connections, or of two replicas, come in any order; only a newer version
 * is news, or the same one of what seemed to be missing meanwhile.
 */
const isNews = ({ known, newest }: Followed, news: Known): boolean => {
  if (news.kind === 'missing') return known === undefined || known.kind === 'update'
  const { version } = news.told
  return version > newest || (version === newest && known?.kind === 'missing')
}

/** What is followed and by whom, with the newest that is known of it. */
export const createRegistry = () => {
  const all = new Map<string, Followed>()
  const follow = (resource: Resource): Followed => {
    if (all.size >= maxResources) throw new RangeError(`A connection follows at most ${maxResources} resources.`)
    const followed: Followed = { resource, followers: new Set(), known: undefined, newest: '' }
    all.set(nameOf(resource), followed)
    return followed
  }
  return {
    /** All that is followed. */
    resources: (): Resource[] => [...all.values()].map(({ resource }) => resource),
    isEmpty: (): boolean => all.size === 0,
    /** Adds a listener, which is soon told what is known; `isFirst` and `isLast` say that nobody else follows it. */
    add: (resource: Resource, listener: Listener): { isFirst: boolean; remove: () => { isLast: boolean } } => {
      const followed = all.get(nameOf(resource)) ?? follow(resource)
      const isFirst = followed.followers.size === 0
      const follower: Follower = { listener, told: undefined }
      followed.followers.add(follower)
      // Not at once: the caller does not have yet what ends it.
      queueMicrotask(() => tell(followed, follower))
      const remove = (): { isLast: boolean } => {
        const isLast = followed.followers.delete(follower) && followed.followers.size === 0
        if (isLast) all.delete(nameOf(resource))
        return { isLast }
      }
      return { isFirst, remove }
    },
    /** Takes news, and tells it to those who follow what it is about. */
    take: (news: News): void => {
      const name = nameOf(news.told.resource)
      const followed = all.get(name)
      if (followed === undefined) return
      if (news.kind === 'error') {
        all.delete(name)
        end(followed, news.told.error)
      } else if (isNews(followed, news)) {
        followed.known = news
        if (news.kind !== 'missing') followed.newest = news.told.version
        for (const follower of followed.followers) tell(followed, follower)
      }
    },
    /** Follows nothing any more, and tells why, where there is something to tell. */
    clear: (error: RealtimeError | undefined): void => {
      const ended = [...all.values()]
      all.clear()
      for (const followed of ended) end(followed, error)
    },
  }
}

const nameOf = ({ type, id }: Resource): string => `${type}/${id}`

const end = ({ followers }: Followed, error: RealtimeError | undefined): void => {
  const ended = [...followers]
  followers.clear()
  if (error === undefined) return
  for (const { listener } of ended) guarded(() => listener.onError(error))
}

const tell = ({ followers, known }: Followed, follower: Follower): void => {
  if (known === undefined || follower.told === known || !followers.has(follower)) return
  follower.told = known
  const { listener } = follower
  guarded(() => {
    if (known.kind === 'update') listener.onUpdate(known.told)
    else if (known.kind === 'deletion') listener.onDeleted?.(known.told)
    else listener.onMissing?.(known.told)
  })
}

/** Calls what others wrote: its error is theirs, and is reported as one that nobody catches. */
export const guarded = (call: () => void): void => {
  try {
    call()
  } catch (error) {
    queueMicrotask(() => {
      throw error
    })
  }
}
