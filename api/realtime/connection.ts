import type { ScopeIds } from '#api/domain/access/context.ts'
import type { Principal } from '#api/platform/auth/principal.ts'
import type { ClientHealth } from './health.ts'
import type { JoinFrames } from './join.ts'
import { createPending, dequeueFrames, type Frame, isEmpty, type Pending } from './pending.ts'
import type { Subscription } from './subscription.ts'

/** The socket of one client. */
export type Peer = {
  /** Returns the number of bytes that are written but not yet accepted by the operating system. */
  buffered(): number
  write(bytes: Buffer): void
  /** Calls back once when the buffer is empty. It never calls back if nothing is buffered. */
  onDrain(callback: () => void): void
  ping(): void
  pong(data: Buffer): void
  /** Sends a close frame. The client has a few seconds to answer it. */
  close(code: number, reason: string): void
  /** Destroys the socket. */
  terminate(): void
}

/** The reason why the server ended a connection, as the value of the metric's `reason` label. */
export type Ending = keyof typeof endings

/** The close codes and reasons: a code of RFC 6455, section 7.4, or an application code from 4000. */
export const endings = {
  restart: [1012, 'The server is restarting. Connect again.'],
  malformed: [1008, 'Too many malformed messages.'],
  rate: [1008, 'Too many messages per second.'],
  unread: [1008, 'Too many unread messages.'],
  idle: [1000, 'No subscription for ten minutes.'],
  credential: [4401, 'The credential is no longer valid.'],
  scope: [4404, 'The scope no longer exists.'],
  silent: [1001, ''],
  stalled: [1013, ''],
} as const

/**
 * One client: its principal, its subscriptions and its pending frames. A replica holds tens of thousands of connections,
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
