import type { FeedWorld } from './resource.ts'

/** A message about the worlds of a project or organization: worlds that changed, or a page of the present ones. */
export type FeedPage = {
  readonly worlds: readonly (FeedWorld | { readonly worldId: string; readonly isDeleted: true })[]
  readonly snapshot?: { readonly isFirst: boolean; readonly isLast: boolean }
}

/** Creates the table of the worlds of a feed. It is complete after the last page of the first snapshot. */
export const createTable = () => {
  let rows = new Map<string, FeedWorld>()
  /** True while others may have the map, which then never changes. */
  let isTaken = false
  let isComplete = false
  let isReported = false
  /** The worlds that messages have named since the first page of a snapshot, until its last one. */
  let named: Set<string> | undefined
  return {
    /** Applies a message. Reports whether the table is complete and changed. */
    apply: ({ worlds, snapshot }: FeedPage): boolean => {
      if (isTaken) rows = new Map(rows)
      isTaken = false
      let isChanged = false
      if (snapshot?.isFirst) named = new Set()
      for (const world of worlds) {
        isChanged = put(rows, world) || isChanged
        named?.add(world.worldId)
      }
      if (snapshot?.isLast) {
        isComplete = true
        for (const id of rows.keys()) if (named?.has(id) === false) isChanged = rows.delete(id)
        named = undefined
      }
      if (!isComplete || (isReported && !isChanged)) return false
      isReported = true
      return true
    },
    /** False while the first snapshot arrives. */
    isComplete: (): boolean => isComplete,
    /** Returns the present worlds. Later messages do not change the map: the next one copies it, which takes time. */
    take: (): ReadonlyMap<string, FeedWorld> => {
      isTaken = true
      return rows
    },
    /** Empties the table of a project or organization that is missing. Changes follow without a snapshot. */
    clear: (): void => {
      rows = new Map()
      isTaken = false
      isComplete = true
      isReported = false
    },
  }
}

/** Puts the newest state of a world into the rows, or removes a deleted one. Reports whether the rows changed. */
const put = (rows: Map<string, FeedWorld>, world: FeedPage['worlds'][number]): boolean => {
  if ('isDeleted' in world) return rows.delete(world.worldId)
  const known = rows.get(world.worldId)
  if (known !== undefined && !isNewer(world, known)) return false
  rows.set(world.worldId, world)
  return true
}

/** Changes within a millisecond have one version, so an equal version counts if the content differs. */
const isNewer = (world: FeedWorld, known: FeedWorld): boolean =>
  world.version > known.version || (world.version === known.version && JSON.stringify(world) !== JSON.stringify(known))
