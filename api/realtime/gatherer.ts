import { type Clock, sleep } from '#shared/clock.ts'
import type { Entry } from './connection.ts'

/** The time for which the changes of a world's counts gather into one. */
export const gatherMs = 2_000
/** The pause between two releases. */
const releaseMs = 200
/** The most worlds of a release: enough for any steady number of changes. */
const releaseSize = (waiting: number): number => Math.max(50, Math.ceil((waiting * releaseMs) / gatherMs))

type Waiting<World> = Map<string, { readonly world: World; readonly dueMs: number }>

/**
 * Holds the worlds whose counts changed for `gatherMs`, so that each of them is released at most once in this time, with its last
 * change after it. Worlds that are due at once are released one part after the other, because a client that gets all of them at once
 * may fall behind.
 */
export const createGatherer = <World extends { readonly id: string }>(
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  release: (entry: Entry, worlds: readonly World[]) => void,
) => {
  const held = new WeakMap<Entry, Waiting<World>>()
  const run = async (entry: Entry, waiting: Waiting<World>): Promise<void> => {
    let most = 0
    while (waiting.size > 0 && entry.subscriptions.size > 0 && !signal.aborted) {
      const [first] = waiting.values()
      await sleep(clock, Math.max(releaseMs, (first?.dueMs ?? 0) - clock.monotonic()), signal)
      const nowMs = clock.monotonic()
      // Kept while more is due than one release takes, since the last parts would be ever smaller.
      most = Math.max(most, releaseSize(waiting.size))
      const due = [...waiting.values().take(most)].filter(({ dueMs }) => dueMs <= nowMs).map(({ world }) => world)
      for (const { id } of due) waiting.delete(id)
      if (due.length < most) most = 0
      if (due.length > 0) release(entry, due)
    }
    held.delete(entry)
  }
  return {
    /** Holds a world, unless it is held already. */
    add: (entry: Entry, world: World): void => {
      const waiting = held.get(entry) ?? (new Map() as Waiting<World>)
      if (!waiting.has(world.id)) waiting.set(world.id, { world, dueMs: clock.monotonic() + gatherMs })
      if (held.has(entry)) return
      held.set(entry, waiting)
      void run(entry, waiting)
    },
    /** Forgets a world whose whole state is about to be read. */
    drop: (entry: Entry, worldId: string): void => {
      held.get(entry)?.delete(worldId)
    },
  }
}
