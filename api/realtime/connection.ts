import type { ScopeIds } from '#api/domain/access/scope.ts'
import type { Principal } from '#api/platform/auth/principal.ts'
import type { Care } from './care.ts'
import type { Ending } from './ending.ts'
import type { Join } from './join.ts'
import { createPending, type Frame, isEmpty, type Pending, takeFrames } from './pending.ts'
import type { Named } from './protocol.ts'
import type { Topic } from './topic.ts'

/** The wire of one client. */
export type Peer = {
  /** Bytes that were written and that the system has not taken yet. */
  buffered(): number
  write(bytes: Buffer): void
  /** Calls back once when all that was written is taken; never where nothing is buffered. */
  onDrain(callback: () => void): void
  ping(): void
  pong(data: Buffer): void
  /** Says goodbye; the client has a few seconds to answer. */
  close(code: number, reason: string): void
  /** Ends it now. */
  terminate(): void
}

/**
 * One client: who it is, what it follows, and what waits to be written to it. There are ten thousands of them, so its
 * lists are arrays, which take nothing while they are empty.
 */
export type Connection = {
  readonly peer: Peer
  readonly scope: ScopeIds
  principal: Principal
  /** The token of a user, which is verified again while the connection lasts. */
  readonly token: string | undefined
  /** What it follows, each type and id once. */
  readonly subscriptions: Subscription[]
  readonly pending: Pending<Subscription>
  /** What could not be kept waiting, and is read again when there is room. */
  stale: Subscription[]
  readonly care: Care
  waitsForDrain: boolean
  waitsForFlush: boolean
  ended: Ending | undefined
}

/** A topic that somebody follows. */
export type Entry = { readonly key: string; readonly topic: Topic; readonly subscriptions: Set<Subscription> }

/** What a connection follows, and what it was told of it. */
export type Subscription = {
  readonly connection: Connection
  readonly entry: Entry
  readonly named: Named
  /** Whether the connection's own headers name the scope; without that, what may not be read is told as absent. */
  readonly known: boolean
  /** The newest version that was sent or waits to be; 0 is none. It never falls. */
  sentMs: number
  /** The present document is owed. */
  awaits: boolean
  /** The newest change that was not told meanwhile; 0 is none. */
  passedMs: number
  /** The last answer to whether a node may be read; forgotten when the permissions change. */
  grant: { readonly path: string; readonly reads: boolean } | undefined
}

/** A connection that follows nothing yet. */
export const createConnection = (
  made: Pick<Connection, 'peer' | 'scope' | 'principal' | 'token' | 'care'>,
): Connection => ({
  ...made,
  subscriptions: [],
  pending: createPending(),
  stale: [],
  waitsForDrain: false,
  waitsForFlush: false,
  ended: undefined,
})

/** Above this a connection is behind: nothing more is written to it, and only the latest of each resource is kept. */
export const highWaterBytes = 256 * 1024

/** Whether a connection takes less than it is sent. */
export const isBehind = ({ waitsForDrain, peer }: Connection): boolean =>
  waitsForDrain || peer.buffered() > highWaterBytes

/**
 * Writes what waits, as far as there is room. Returns the frames that were written; `again` is called when room comes
 * for the rest.
 */
export const flush = (connection: Connection, join: Join, again: () => void): readonly Frame[] => {
  const { peer, pending } = connection
  if (connection.waitsForDrain || connection.ended !== undefined) return []
  let written: readonly Frame[] = []
  let buffered = peer.buffered()
  // What the system takes at once leaves room for more, and nobody would be told of a drain.
  while (!isEmpty(pending) && buffered <= highWaterBytes) {
    const frames = takeFrames(pending, highWaterBytes - buffered)
    peer.write(join(frames))
    written = written.length === 0 ? frames : [...written, ...frames]
    buffered = peer.buffered()
  }
  if (buffered > highWaterBytes) {
    connection.waitsForDrain = true
    peer.onDrain(() => {
      connection.waitsForDrain = false
      again()
    })
  }
  return written
}
