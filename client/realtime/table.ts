import type { FeedWorld } from './resource.ts'

/** A message about the worlds of a project or organization: worlds that changed, or a page of the present ones. */
export type FeedPage = {
  readonly worlds: readonly (FeedWorld | { readonly worldId: string; readonly isDeleted: true })[]
  readonly snapshot?: { readonly isFirst: boolean; readonly isLast: boolean }
}

/** Creates the table of the worlds of a feed. It is complete after the last page of the first snapshot. */
export const createTable = () => {
  let rows = new Map<string, FeedWorld>()
  let isComplete = false
  let isReported = false
  /** The worlds that messages have named since the first page of the snapshot. */
  let named = new Set<string>()
  return {
    /** Applies a message. Returns a new table, or undefined if it is not complete yet or nothing changed. */
    apply: ({ worlds, snapshot }: FeedPage): ReadonlyMap<string, FeedWorld> | undefined => {
      const next = merge(rows, worlds)
      if (snapshot?.isFirst) named = new Set()
      for (const { worldId } of worlds) named.add(worldId)
      if (snapshot?.isLast) {
        isComplete = true
        for (const id of next.keys()) if (!named.has(id)) next.delete(id)
      }
      const isChanged = next.size !== rows.size || [...next].some(([id, world]) => rows.get(id) !== world)
      rows = next
      if (!isComplete || (isReported && !isChanged)) return undefined
      isReported = true
      return rows
    },
    /** Empties the table of a project or organization that is missing. Changes follow without a snapshot. */
    clear: (): void => {
      rows = new Map()
      isComplete = true
      isReported = false
    },
  }
}

/** Returns the rows with the newest state of each world, without deleted worlds. */
const merge = (rows: ReadonlyMap<string, FeedWorld>, worlds: FeedPage['worlds']): Map<string, FeedWorld> => {
  const merged = new Map(rows)
  for (const world of worlds) {
    const known = merged.get(world.worldId)
    if ('isDeleted' in world) merged.delete(world.worldId)
    else if (known === undefined || isNewer(world, known)) merged.set(world.worldId, world)
  }
  return merged
}

/** Changes within a millisecond have one version, so an equal version counts if the content differs. */
const isNewer = (world: FeedWorld, known: FeedWorld): boolean =>
  world.version > known.version || (world.version === known.version && JSON.stringify(world) !== JSON.stringify(known))
