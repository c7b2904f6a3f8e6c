/** A queue that holds each item once and takes from its groups in turn. */
export type FairQueue<T> = {
  add(item: T): void
  /** Puts items back that were taken and not processed. They come before all others, in this order. */
  putBack(items: readonly T[]): void
  /** Removes and returns at most `limit` items: one of each group, then the next one of each, oldest first. */
  take(limit: number): T[]
  readonly isEmpty: boolean
}

/** Returns an empty queue. A group with many items delays an item of another group by one item per turn. */
export const createFairQueue = <T>(groupOf: (item: T) => string): FairQueue<T> => {
  // The map is in the order of the turns.
  const groups = new Map<string, Set<T>>()
  const takeNext = (): T | undefined => {
    for (const [group, items] of groups) {
      groups.delete(group)
      for (const item of items) {
        items.delete(item)
        if (items.size > 0) groups.set(group, items)
        return item
      }
    }
    return undefined
  }
  const add = (item: T): void => {
    const group = groupOf(item)
    const items = groups.get(group)
    if (items === undefined) groups.set(group, new Set([item]))
    else items.add(item)
  }
  return {
    add,
    putBack: (items) => {
      if (items.length === 0) return
      const later = [...groups.values()].flatMap((each) => [...each])
      groups.clear()
      for (const item of [...items, ...later]) add(item)
    },
    take: (limit) => {
      const taken: T[] = []
      while (taken.length < limit) {
        const item = takeNext()
        if (item === undefined) break
        taken.push(item)
      }
      return taken
    },
    get isEmpty() {
      return groups.size === 0
    },
  }
}
