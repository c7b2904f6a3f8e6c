/**
 * The queues that organizations share. docs/limits.md describes each, and test/integration/sharedQueues.test.ts floods each. `pushes`,
 * `webhooks` and `schedules` are tables, whose claims take turns in SQL. A queue in memory needs a name of this list.
 */
export const sharedQueues = [
  'pushes',
  'webhooks',
  'resources',
  'events',
  'readiness polls',
  'readiness retries',
  'first polls',
  'pictures',
  'large pictures',
  'large pages',
  'handshakes',
  'messages',
  'topics',
  'feeds',
  'feed projects',
  'credentials',
  'purge',
  'schedules',
  'deleted documents',
] as const

/** The name of a queue that organizations share. */
export type SharedQueue = (typeof sharedQueues)[number]

/** A queue that holds each item once and takes from its owners in turn, the oldest of an owner first. */
export type FairQueue<T> = {
  readonly name: SharedQueue
  add(item: T): void
  /** Puts items back that were taken and not processed. They come before all others, in this order. */
  putBack(items: readonly T[]): void
  delete(item: T): void
  /** Removes and returns at most `limit` items: one of each owner that may take now, then the next one of each. */
  take(limit: number, mayTake?: (owner: string) => boolean): T[]
  /** Reports whether `take` would return an item. */
  hasNext(mayTake: (owner: string) => boolean): boolean
  readonly size: number
  /** Returns the number of items of an owner. */
  sizeOf(owner: string): number
}

/**
 * Returns an empty queue. `ownerOf` returns the organization of an item, or what stands for it, such as a namespace. An owner with many
 * items delays an item of another by one item per turn.
 */
export const createFairQueue = <T>(name: SharedQueue, ownerOf: (item: T) => string): FairQueue<T> => {
  // The map is in the order of the turns. No owner in it is without items.
  const owners = new Map<string, Fifo<T>>()
  let size = 0
  const nextOwner = (mayTake: (owner: string) => boolean): [string, Fifo<T>] | undefined => {
    for (const entry of owners) if (mayTake(entry[0])) return entry
    return undefined
  }
  const add = (item: T): void => {
    const owner = ownerOf(item)
    const items = owners.get(owner) ?? createFifo()
    owners.set(owner, items)
    if (items.add(item)) size += 1
  }
  return {
    name,
    add,
    putBack: (items) => {
      if (items.length === 0) return
      const later = [...owners.values()].flatMap(({ all }) => [...all])
      owners.clear()
      size = 0
      for (const item of [...items, ...later]) add(item)
    },
    delete: (item) => {
      const owner = ownerOf(item)
      const items = owners.get(owner)
      if (items === undefined || !items.all.delete(item)) return
      size -= 1
      if (items.all.size === 0) owners.delete(owner)
    },
    take: (limit, mayTake = () => true) => {
      const taken: T[] = []
      while (taken.length < limit) {
        const [owner, items] = nextOwner(mayTake) ?? []
        if (owner === undefined || items === undefined) break
        taken.push(...items.takeFirst())
        size -= 1
        owners.delete(owner)
        if (items.all.size > 0) owners.set(owner, items)
      }
      return taken
    },
    hasNext: (mayTake) => nextOwner(mayTake) !== undefined,
    get size() {
      return size
    },
    sizeOf: (owner) => owners.get(owner)?.all.size ?? 0,
  }
}

/** Items in order of arrival. */
type Fifo<T> = {
  readonly all: Set<T>
  /** Returns false if the item is there already. */
  add(item: T): boolean
  /** Removes and returns the oldest item, if there is one. */
  takeFirst(): T[]
}

const createFifo = <T>(): Fifo<T> => {
  const all = new Set<T>()
  // One iterator is kept, since a new one would first step over the items that were deleted.
  let order = all.values()
  return {
    all,
    add: (item) => all.size < all.add(item).size,
    takeFirst: () => {
      let next = order.next()
      if (next.done) {
        order = all.values()
        next = order.next()
      }
      if (next.done) return []
      all.delete(next.value)
      return [next.value]
    },
  }
}
