import type { Duplex } from 'node:stream'
import type { Admission } from '#api/domain/endpoint/admission.ts'
import { type Clock, sleep } from '#shared/clock.ts'
import { type Connection, createConnection, isBehind } from './connection.ts'
import { type Ending, endings } from './ending.ts'
import { consumeToken, countMalformed, createHealth, nextAction, recordActivity } from './health.ts'
import type { Hub } from './hub.ts'
import { createInbox } from './inbox.ts'
import type { RealtimeMetrics } from './metrics.ts'
import { closingFrame, readMessage } from './protocol.ts'
import type { ClientEvents, ClientSocket } from './socket.ts'

const checkIntervalMs = 1_000
/** The longest time over which close frames are spread. Kubernetes kills the container 30 s after SIGTERM by default. */
const maxCloseSpreadMs = 10_000
const closesPerMs = 0.5
/** The bytes of a message that waits, without its text. */
const plainBytes = 256
/** The time for clients to answer the last close frames. */
const closeGraceMs = 2_000

export type SessionOptions = {
  readonly hub: Hub
  readonly metrics: RealtimeMetrics
  readonly clock: Clock
  readonly random: () => number
  readonly onOpen: (connection: Connection) => void
  readonly onClose: (connection: Connection) => void
}

/** Manages the open connections of a replica: passes messages to the hub and checks the health of each client once a second. */
export const createSessions = (
  connections: Set<Connection>,
  { hub, metrics, clock, random, onOpen, onClose }: SessionOptions,
) => {
  const end = (connection: Connection, why: Ending): void => {
    if (connection.ended !== undefined) return
    // Pending frames go out before the close frame.
    hub.flush(connection, clock.monotonic())
    const [code, reason] = endings[why]
    // Clients that are silent or do not read get no reason.
    if (reason !== '') connection.peer.write(closingFrame(reason))
    connection.ended = why
    connection.health.endedMs = clock.monotonic()
    connection.peer.close(code, reason)
  }
  const terminate = (connection: Connection, why: Ending | undefined): void => {
    connection.ended ??= why
    connection.peer.terminate()
  }
  const handleMessage = (connection: Connection, text: string): void => {
    if (connection.ended !== undefined) return
    recordActivity(connection.health)
    const message = readMessage(text)
    if (!consumeToken(connection.health, clock.monotonic())) end(connection, 'rate')
    else if (message !== undefined) hub[message.action](connection, message.resource)
    else {
      hub.refuseMalformed(connection)
      if (!countMalformed(connection.health)) end(connection, 'malformed')
    }
  }
  const checkHealth = (connection: Connection, nowMs: number): void => {
    const { peer, health, subscriptions, ended } = connection
    const behind = isBehind(connection)
    const seen = { ended: ended !== undefined, behind, buffered: peer.buffered(), subscriptions: subscriptions.length }
    const action = nextAction(health, seen, nowMs)
    if (action === undefined) return
    if ('ping' in action) peer.ping()
    else if ('close' in action) end(connection, action.close)
    else terminate(connection, action.terminate)
  }

  const answerPing = (connection: Connection, data: Buffer): void => {
    recordActivity(connection.health)
    if (!consumeToken(connection.health, clock.monotonic())) end(connection, 'rate')
    // Pongs to a client that does not read would accumulate.
    else if (!isBehind(connection)) connection.peer.pong(data)
  }
  const fail = (connection: Connection, why: Ending): void => {
    if (connection.ended === undefined) end(connection, why)
    else terminate(connection, undefined)
  }
  const remove = (connection: Connection): void => {
    connections.delete(connection)
    hub.remove(connection)
    onClose(connection)
    metrics.addConnections(-1)
    metrics.countClose(connection.ended ?? 'client')
  }

  const inbox = createInbox({ monotonic: clock.monotonic, overflow: (connection) => end(connection, 'crowded') })
  const events: ClientEvents = {
    read: inbox.haveRead,
    message: (connection, text = '') =>
      inbox.add(connection, plainBytes + text.length, () => handleMessage(connection, text)),
    ping: (connection, data) => inbox.add(connection, plainBytes, () => answerPing(connection, data)),
    pong: ({ health }) => recordActivity(health),
    failed: (connection, why) => inbox.add(connection, 0, () => fail(connection, why)),
    closed: (connection) => inbox.add(connection, 0, () => remove(connection)),
  }

  return {
    end,
    /** Registers an open WebSocket as a connection. */
    open: (peer: ClientSocket, socket: Duplex, { principal, scope, token }: Admission): void => {
      const health = createHealth(clock.monotonic(), random())
      const connection = createConnection({ peer, scope, principal, token, health })
      peer.serve(socket, connection, events)
      connections.add(connection)
      metrics.addConnections(1)
      onOpen(connection)
    },
    /** Checks the health of all connections every second until the signal is aborted. */
    run: async (signal: AbortSignal): Promise<void> => {
      while (!signal.aborted) {
        await sleep(clock, checkIntervalMs, signal)
        const nowMs = clock.monotonic()
        for (const connection of connections) checkHealth(connection, nowMs)
      }
    },
    /** Closes all connections, spread over several seconds so that clients do not reconnect at once, then destroys the rest. */
    drain: async (): Promise<void> => {
      const spreadMs = Math.min(maxCloseSpreadMs, connections.size / closesPerMs)
      await Promise.all(
        [...connections].map(async (connection) => {
          await sleep(clock, random() * spreadMs)
          end(connection, 'restart')
        }),
      )
      const deadlineMs = clock.monotonic() + closeGraceMs
      while (connections.size > 0 && clock.monotonic() < deadlineMs) await sleep(clock, 20)
      for (const connection of connections) terminate(connection, undefined)
    },
  }
}
