import type { Entry } from './connection.ts'

/** A world that changed. `writtenMs` is the monotonic time of the change; undefined if only its counts changed, which can wait. */
export type ChangedWorld = {
  readonly id: string
  readonly projectId: string
  readonly versionMs: number
  readonly writtenMs: number | undefined
}

type Changed = Map<string, ChangedWorld>

/** Keeps the changed worlds of feeds until they are read. Those with a changed state come before those with changed counts. */
export const createChanges = () => {
  const known = new WeakMap<Entry, { readonly states: Changed; readonly counts: Changed }>()
  const changesOf = (entry: Entry) => {
    const changes = known.get(entry) ?? { states: new Map(), counts: new Map() }
    known.set(entry, changes)
    return changes
  }
  return {
    /** Adds changed worlds. A known change of the same world stays. */
    add: (entry: Entry, worlds: readonly ChangedWorld[]): void => {
      const { states, counts } = changesOf(entry)
      for (const each of worlds) {
        const changed = each.writtenMs === undefined ? counts : states
        if (!changed.has(each.id)) changed.set(each.id, each)
      }
    },
    /** Removes and returns at most `size` worlds, each once. */
    take: (entry: Entry, size: number): ChangedWorld[] => {
      const { states, counts } = changesOf(entry)
      const worlds = [...states.values()].slice(0, size)
      for (const { id } of worlds) {
        states.delete(id)
        counts.delete(id)
      }
      const rest = [...counts.values()].slice(0, size - worlds.length)
      for (const { id } of rest) counts.delete(id)
      return [...worlds, ...rest]
    },
    /** Reports whether worlds of the entry wait. */
    has: (entry: Entry): boolean => {
      const { states, counts } = changesOf(entry)
      return states.size + counts.size > 0
    },
  }
}

/** Returns the time of the oldest change of a state, or undefined if only counts changed. */
export const firstWrittenMs = (worlds: readonly ChangedWorld[]): number | undefined => {
  const times = worlds.flatMap(({ writtenMs }) => writtenMs ?? [])
  return times.length === 0 ? undefined : Math.min(...times)
}
