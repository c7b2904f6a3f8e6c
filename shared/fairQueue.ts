/** A queue that holds each item once and takes from its groups in turn, the oldest of a group first. */
export type FairQueue<T> = {
  add(item: T): void
  /** Puts items back that were taken and not processed. They come before all others, in this order. */
  putBack(items: readonly T[]): void
  delete(item: T): void
  /** Removes and returns at most `limit` items: one of each group that may take now, then the next one of each. */
  take(limit: number, mayTake?: (group: string) => boolean): T[]
  /** Reports whether `take` would return an item. */
  hasNext(mayTake: (group: string) => boolean): boolean
  readonly size: number
}

/** Returns an empty queue. A group with many items delays an item of another group by one item per turn. */
export const createFairQueue = <T>(groupOf: (item: T) => string): FairQueue<T> => {
  // The map is in the order of the turns. No group in it is empty.
  const groups = new Map<string, Fifo<T>>()
  let size = 0
  const nextGroup = (mayTake: (group: string) => boolean): [string, Fifo<T>] | undefined => {
    for (const entry of groups) if (mayTake(entry[0])) return entry
    return undefined
  }
  const add = (item: T): void => {
    const group = groupOf(item)
    const items = groups.get(group) ?? createFifo()
    groups.set(group, items)
    if (items.add(item)) size += 1
  }
  return {
    add,
    putBack: (items) => {
      if (items.length === 0) return
      const later = [...groups.values()].flatMap(({ all }) => [...all])
      groups.clear()
      size = 0
      for (const item of [...items, ...later]) add(item)
    },
    delete: (item) => {
      const group = groupOf(item)
      const items = groups.get(group)
      if (items === undefined || !items.all.delete(item)) return
      size -= 1
      if (items.all.size === 0) groups.delete(group)
    },
    take: (limit, mayTake = () => true) => {
      const taken: T[] = []
      while (taken.length < limit) {
        const [group, items] = nextGroup(mayTake) ?? []
        if (group === undefined || items === undefined) break
        taken.push(...items.takeFirst())
        size -= 1
        groups.delete(group)
        if (items.all.size > 0) groups.set(group, items)
      }
      return taken
    },
    hasNext: (mayTake) => nextGroup(mayTake) !== undefined,
    get size() {
      return size
    },
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
