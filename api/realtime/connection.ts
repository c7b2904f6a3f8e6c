import type { ScopeIds } from '#api/domain/access/scope.ts'
import type { Principal } from '#api/platform/auth/principal.ts'
import type { Ending } from './ending.ts'
import type { ClientHealth } from './health.ts'
import type { JoinFrames } from './join.ts'
import { createPending, dequeueFrames, type Frame, isEmpty, maxPendingBytes, type Pending } from './pending.ts'
import type { ResourceName } from './protocol.ts'
import type { Topic } from './topic.ts'

/** The socket of one client. */
export type Peer = {
  /** Returns the number of bytes that are written but not yet accepted by the operating system. */
  buffered(): number
  write(bytes: Buffer): void
  /** Calls back once when the buffer is empty. It never calls back if nothing is buffered. */
  onDrain(callback: () => void): void
  /** Stops reading from the client. What the system has received by then may still arrive. */
  pause(): void
  resume(): void
  ping(): void
  pong(data: Buffer): void
  /** Sends a close frame. The client has a few seconds to answer it. */
  close(code: number, reason: string): void
  /** Destroys the socket. */
  terminate(): void
}

/**
 * The state of a client: its principal, its subscriptions and its pending frames. A replica holds tens of thousands of connections,
 * so the lists are arrays, which need little memory while they are empty.
 */
export type Connection = {
  readonly peer: Peer
  readonly scope: ScopeIds
  principal: Principal
  /** The user's token. It is verified again while the connection is open. */
  readonly token: string | undefined
  /** The subscriptions. Each type and id occurs once. */
  readonly subscriptions: Subscription[]
  readonly pending: Pending<Subscription>
  /** The subscriptions whose update was dropped. Their documents are read again when the connection has room. */
  stale: Subscription[]
  readonly health: ClientHealth
  waitsForDrain: boolean
  waitsForFlush: boolean
  ended: Ending | undefined
}

/** A topic with at least one subscription. `bytes` is the size of its last message, or 0 before the first. */
export type Entry = {
  readonly key: string
  readonly topic: Topic
  readonly subscriptions: Set<Subscription>
  bytes: number
}

/** A subscription of one connection to one topic, with its delivery state. */
export type Subscription = {
  readonly connection: Connection
  readonly entry: Entry
  /** The resource as the client named it. */
  readonly resource: ResourceName
  /** True if the connection's headers name the topic's scope. Otherwise a topic that may not be read is reported as absent. */
  readonly isOwnScope: boolean
  /** The newest version that was queued for the client, or 0. It never decreases. */
  sentVersionMs: number
  /** True until the client has received the current document. */
  needsSnapshot: boolean
  /** The newest change that was skipped while the snapshot was pending, or 0. */
  skippedVersionMs: number
  /** The cached permission check for the last path. Cleared when the permissions change. */
  grant: { readonly path: string; readonly canRead: boolean } | undefined
}

/** Returns a connection without subscriptions. */
export const createConnection = (
  made: Pick<Connection, 'peer' | 'scope' | 'principal' | 'token' | 'health'>,
): Connection => ({
  ...made,
  subscriptions: [],
  pending: createPending(),
  stale: [],
  waitsForDrain: false,
  waitsForFlush: false,
  ended: undefined,
})

/** Above this a connection is behind: nothing more is written to it, and only the newest update of each document is kept. */
export const highWaterBytes = 256 * 1024

/** Reports whether the client reads more slowly than the server sends. */
export const isBehind = ({ waitsForDrain, peer }: Connection): boolean =>
  waitsForDrain || peer.buffered() > highWaterBytes

/** Reports whether another document can be queued for the client. */
export const hasRoom = ({ waitsForDrain, pending }: Connection): boolean =>
  !waitsForDrain && pending.bytes < maxPendingBytes

/**
 * Writes pending frames while the buffer has room, and returns the frames that it wrote. Calls `onRoom` when there is
 * room for the rest.
 */
export const flush = (connection: Connection, join: JoinFrames, onRoom: () => void): readonly Frame[] => {
  const { peer, pending } = connection
  if (connection.waitsForDrain || connection.ended !== undefined) return []
  let written: readonly Frame[] = []
  let buffered = peer.buffered()
  // If the system accepts everything at once, no drain event follows, so the loop continues here.
  while (!isEmpty(pending) && buffered <= highWaterBytes) {
    const frames = dequeueFrames(pending, highWaterBytes - buffered)
    peer.write(join(frames))
    written = written.length === 0 ? frames : [...written, ...frames]
    buffered = peer.buffered()
  }
  if (buffered > highWaterBytes) {
    connection.waitsForDrain = true
    peer.onDrain(() => {
      connection.waitsForDrain = false
      onRoom()
    })
  }
  return written
}
