import { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import pg from 'pg'
import { sleep, systemClock } from '#shared/clock.ts'
import { createStatementNames, type StatementNames, withStatementName } from './statements.ts'

/** The timeout for opening a connection and for waiting on one of the pool. */
const connectTimeoutMs = 5_000

/**
 * Makes a client prepare the statements that are used often, send those of one turn of the event loop together, and say why a
 * transaction was aborted. All clients of a pool share the names.
 */
const replaceQuery = (client: pg.PoolClient, names: StatementNames): void => {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown
  const gather = createGather(client.connection.stream)
  const explain = createExplain()
  const replaced = (text: unknown, values: unknown, ...more: unknown[]): unknown => {
    gather()
    const result = query(withStatementName(names, text, values), values, ...more)
    if (result instanceof Promise) result.catch(explain)
    return result
  }
  client.query = replaced as typeof client.query
}

/** The code of a query that Postgres refuses because an earlier one of its transaction failed. */
const abortedCode = '25P02'

/**
 * Returns a function that sees the errors of a connection in their order, before its callers do. It makes the failure that aborted
 * a transaction the cause of the errors that follow from it. Which error a caller sees first depends on how it awaits its queries.
 */
const createExplain = (): ((error: Error & { readonly code?: string }) => void) => {
  let failure: Error | undefined
  return (error) => {
    if (error.code === abortedCode) error.cause = failure
    else failure = error
  }
}

/**
 * Returns a function that buffers writes to a stream until all due callbacks and promises have run. One write for each statement
 * would cost more than executing it.
 */
const createGather = (stream: Writable): (() => void) => {
  let isGathering = false
  const send = (): void => {
    isGathering = false
    stream.uncork()
  }
  return () => {
    if (isGathering) return
    isGathering = true
    stream.cork()
    process.nextTick(send)
  }
}

/** The time without traffic after which a connection is probed. */
const keepAliveMs = 10_000

/** The maximum lifetime of a connection. Closing it frees its prepared statements in Postgres. */
const lifetimeSeconds = 600

/**
 * Opens a pool. It connects on demand and reconnects after an outage. Waiting for a connection has a timeout. A connection
 * without traffic for `silenceMs` is closed, so that a query ends with an error if the peer is lost.
 */
export const openPool = ({ silenceMs, ...config }: pg.PoolConfig & { silenceMs: number }): pg.Pool => {
  const pool = new pg.Pool({
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    maxLifetimeSeconds: lifetimeSeconds,
    stream: () => {
      const socket = new Socket()
      return socket.setTimeout(silenceMs, () =>
        socket.destroy(new Error(`Postgres was silent for ${silenceMs} ms. The connection was closed.`)),
      )
    },
    ...config,
  })
  const names = createStatementNames()
  // An unhandled error event of a session would end the process.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => {
    client.on('error', () => undefined)
    replaceQuery(client, names)
  })
  return pool
}

/** Opens a dedicated session that never reconnects. `onEnd` is called when the session ends for any reason. */
export const openSession = async (config: pg.ClientConfig, onEnd: () => void = () => undefined): Promise<Session> => {
  const client = new pg.Client({
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    ...config,
  })
  client.on('error', onEnd)
  client.once('end', onEnd)
  await client.connect()
  return {
    client,
    close: async () => {
      // An unresponsive server would never acknowledge the end of the session.
      await Promise.race([client.end().catch(() => undefined), sleep(systemClock, 1_000)])
    },
  }
}

/** A Postgres session outside the pool. It holds its advisory locks until it ends. */
export type Session = { readonly client: pg.Client; close(): Promise<void> }
