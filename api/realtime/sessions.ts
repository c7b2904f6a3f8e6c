import type { Duplex } from 'node:stream'
import type { Admission } from '#api/domain/endpoint/admission.ts'
import { type Clock, sleep } from '#shared/clock.ts'
import { createCare, heard, needOf, takeMalformed, takeToken } from './care.ts'
import { type Connection, createConnection, isBehind } from './connection.ts'
import { type Ending, endings } from './ending.ts'
import type { Hub } from './hub.ts'
import type { RealtimeMetrics } from './metrics.ts'
import { readMessage } from './protocol.ts'
import type { ClientEvents, ClientSocket } from './socket.ts'

const lookEveryMs = 1_000
/** Saying goodbye to all takes no longer; a container is killed 30 s after SIGTERM. */
const maxGoodbyesMs = 10_000
const goodbyesPerMs = 0.5
/** Those who do not answer the goodbye are cut off. */
const lastMs = 2_000

export type SessionOptions = {
  readonly hub: Hub
  readonly metrics: RealtimeMetrics
  readonly clock: Clock
  readonly random: () => number
  readonly opened: (connection: Connection) => void
  readonly closed: (connection: Connection) => void
}

/** The open connections of a replica: what clients send goes to the hub, and each is looked after once a second. */
export const createSessions = (
  connections: Set<Connection>,
  { hub, metrics, clock, random, opened, closed }: SessionOptions,
) => {
  const end = (connection: Connection, why: Ending): void => {
    if (connection.ended !== undefined) return
    // What the client was to be told goes before the goodbye.
    hub.flush(connection, clock.monotonic())
    connection.ended = why
    connection.care.endedMs = clock.monotonic()
    const [code, reason] = endings[why]
    connection.peer.close(code, reason)
  }
  const terminate = (connection: Connection, why: Ending | undefined): void => {
    connection.ended ??= why
    connection.peer.terminate()
  }
  const take = (connection: Connection, text: string | undefined): void => {
    if (connection.ended !== undefined) return
    heard(connection.care)
    const message = text === undefined ? undefined : readMessage(text)
    if (!takeToken(connection.care, clock.monotonic())) end(connection, 'rate')
    else if (message !== undefined) hub[message.action](connection, message.resource)
    else if (takeMalformed(connection.care)) hub.refuseMalformed(connection)
    else end(connection, 'malformed')
  }
  const lookAfter = (connection: Connection, nowMs: number): void => {
    const { peer, care, subscriptions, ended } = connection
    const behind = isBehind(connection)
    const seen = { ended: ended !== undefined, behind, buffered: peer.buffered(), subscriptions: subscriptions.length }
    const need = needOf(care, seen, nowMs)
    if (need === undefined) return
    if ('ping' in need) peer.ping()
    else if ('close' in need) end(connection, need.close)
    else terminate(connection, need.terminate)
  }

  const events: ClientEvents = {
    message: take,
    ping: (connection, data) => {
      heard(connection.care)
      if (!takeToken(connection.care, clock.monotonic())) end(connection, 'rate')
      // Answers to one who does not read them would pile up.
      else if (!isBehind(connection)) connection.peer.pong(data)
    },
    pong: ({ care }) => heard(care),
    closed: (connection) => {
      connections.delete(connection)
      hub.remove(connection)
      closed(connection)
      metrics.connections(-1)
      metrics.closed(connection.ended ?? 'client')
    },
  }

  return {
    end,
    /** Takes over an open WebSocket. */
    open: (peer: ClientSocket, socket: Duplex, { principal, scope, token }: Admission): void => {
      const care = createCare(clock.monotonic(), random())
      const connection = createConnection({ peer, scope, principal, token, care })
      peer.serve(socket, connection, events)
      connections.add(connection)
      metrics.connections(1)
      opened(connection)
    },
    /** Looks after all until the signal is aborted. */
    run: async (signal: AbortSignal): Promise<void> => {
      while (!signal.aborted) {
        await sleep(clock, lookEveryMs, signal)
        const nowMs = clock.monotonic()
        for (const connection of connections) lookAfter(connection, nowMs)
      }
    },
    /** Says goodbye to all, spread over some seconds so that they do not all come back at once, then cuts off the rest. */
    drain: async (): Promise<void> => {
      const spreadMs = Math.min(maxGoodbyesMs, connections.size / goodbyesPerMs)
      await Promise.all(
        [...connections].map(async (connection) => {
          await sleep(clock, random() * spreadMs)
          end(connection, 'restart')
        }),
      )
      const deadlineMs = clock.monotonic() + lastMs
      while (connections.size > 0 && clock.monotonic() < deadlineMs) await sleep(clock, 20)
      for (const connection of connections) terminate(connection, undefined)
    },
  }
}
