import { createHoldings } from '#api/platform/fairness/holdings.ts'
import type { Clock } from '#shared/clock.ts'
import { createFairQueue } from '#shared/fairQueue.ts'
import type { Connection } from './connection.ts'

/** The time for the work of clients in a turn of the event loop. Other requests wait for a few turns. */
const sliceMs = 2
/** The number of waiting items that a turn of the event loop takes. Each lets the system read from one socket. */
const maxOfTurn = 64
/** The bytes of the messages of one organization that wait, and of all. */
const waitingLimits = { perGroup: 24 * 1024 * 1024, total: 128 * 1024 * 1024, free: 0 }

/** Work that a client causes: a message, a violation of the protocol, the end of its socket, or only the read of some bytes. */
type Item = { readonly connection: Connection; readonly bytes: number; readonly work: () => void }

/**
 * Runs the work that clients cause, of a connection in order. Each turn of the event loop has a slice of time for it. Work beyond the
 * slice waits, and organizations take turns. A connection is not read while its work waits. `overflow` is called instead of work for
 * which an organization has no room.
 */
export const createInbox = ({
  monotonic,
  overflow,
}: Pick<Clock, 'monotonic'> & { readonly overflow: (connection: Connection) => void }) => {
  const queue = createFairQueue<Item>('messages', ({ connection }) => connection.scope.organizationId)
  const waiting = new Map<Connection, number>()
  const holdings = createHoldings(waitingLimits)
  let endMs = 0
  let isTurn = false
  const hasTime = (): boolean => monotonic() < endMs
  const wait = (item: Item): void => {
    const { connection, bytes } = item
    if (bytes > 0 && !holdings.hold(connection.scope.organizationId, bytes)) return void overflow(connection)
    queue.add(item)
    const count = waiting.get(connection) ?? 0
    waiting.set(connection, count + 1)
    if (count === 0) connection.peer.pause()
  }
  const endWait = ({ connection, bytes }: Item): void => {
    holdings.giveBack(connection.scope.organizationId, bytes)
    const count = (waiting.get(connection) ?? 0) - 1
    if (count > 0) return void waiting.set(connection, count)
    waiting.delete(connection)
    connection.peer.resume()
  }
  const runWaiting = (): void => {
    isTurn = false
    endMs = monotonic() + sliceMs
    for (let taken = 0; taken < maxOfTurn && hasTime(); taken += 1) {
      const [item] = queue.take(1)
      if (item === undefined) return
      item.work()
      endWait(item)
    }
    if (queue.size > 0) beginTurn()
  }
  const beginTurn = (): void => {
    isTurn = true
    setImmediate(runWaiting)
  }
  /** Reports whether work can run now. The slice of a turn begins with its first work. */
  const isFree = (): boolean => {
    if (!isTurn) {
      endMs = monotonic() + sliceMs
      beginTurn()
    }
    return queue.size === 0 && hasTime()
  }
  return {
    /** Runs the work now if there is time and none waits, else in its turn. It holds these bytes until then, or always fits with 0. */
    add: (connection: Connection, bytes: number, work: () => void): void => {
      if (isFree()) work()
      else wait({ connection, bytes, work })
    },
    /** Call it after each read of a connection, since reads take time even if they complete no message. */
    haveRead: (connection: Connection): void => {
      if (!isFree() && !waiting.has(connection)) wait({ connection, bytes: 0, work: nothing })
    },
  }
}

const nothing = (): void => undefined
