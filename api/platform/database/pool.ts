import { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import pg from 'pg'
import { sleep, systemClock } from '#shared/clock.ts'
import { createStatementNames, withStatementName } from './statements.ts'

/** The timeout for opening a connection and for waiting on one of the pool. */
const connectTimeoutMs = 5_000

/**
 * A pool that reclaims a client whose session ends while it is in use. Drizzle does not release a client whose `begin`
 * failed, so a database outage would otherwise exhaust the pool.
 */
class SafePool extends pg.Pool {
  readonly #failures = new WeakMap<pg.PoolClient, Error>()
  readonly #names = createStatementNames()

  constructor(config: pg.PoolConfig) {
    super(config)
    // An unhandled error event of an idle session would end the process.
    this.on('error', () => undefined)
    this.on('connect', (client) => {
      client.on('error', (error) => this.#failures.set(client, error))
      this.#replaceQuery(client)
    })
  }

  /**
   * Makes a client prepare the statements that are used often, send those of one turn of the event loop together, and say why a
   * transaction was aborted. All clients of the pool share the names.
   */
  #replaceQuery(client: pg.PoolClient): void {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown
    const gather = createGather(client.connection.stream)
    const explain = createExplain()
    const replaced = (text: unknown, values: unknown, ...more: unknown[]): unknown => {
      gather()
      const result = query(withStatementName(this.#names, text, values), values, ...more)
      if (result instanceof Promise) result.catch(explain)
      return isSentWithNext(text) ? continueAtOnce(client, result as Promise<unknown>) : result
    }
    client.query = replaced as typeof client.query
  }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: ConnectCallback): void
  override connect(callback?: ConnectCallback): Promise<pg.PoolClient> | undefined {
    if (callback === undefined) return super.connect().then((client) => this.#lease(client))
    super.connect(callback)
    return undefined
  }

  #lease(client: pg.PoolClient): pg.PoolClient {
    const { release } = client
    let isLeased = true
    const releaseOnce = (error?: Error | boolean): void => {
      if (!isLeased) return
      isLeased = false
      client.off('error', releaseOnce)
      release(error)
    }
    client.release = releaseOnce
    client.on('error', releaseOnce)
    const failure = this.#failures.get(client)
    if (failure === undefined) return client
    releaseOnce(failure)
    throw failure
  }
}

/** Reports whether a query is the begin of a transaction with the configuration `beginsWithReads`. */
const isSentWithNext = (query: unknown): boolean =>
  typeof query === 'object' && query !== null && 'text' in query && query.text === 'begin read write'

/** Returns a promise that does not wait for a begin. If the begin fails, the connection is closed before another query is sent. */
const continueAtOnce = async (client: pg.PoolClient, begun: Promise<unknown>): Promise<void> => {
  begun.catch((error: Error) => client.connection.stream.destroy(error))
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
 * Returns a function that holds back what is written to a stream until the callbacks and promises that are due have run. A write for
 * each statement would cost more than its execution.
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

type ConnectCallback = Parameters<pg.Pool['connect']>[0]

/** The time without traffic after which a connection is probed. */
const keepAliveMs = 10_000

/** The maximum lifetime of a connection. Closing it frees its prepared statements in Postgres. */
const lifetimeSeconds = 600

/**
 * Opens a pool. It connects on demand and reconnects after an outage. Waiting for a connection has a timeout. A connection
 * without traffic for `silenceMs` is closed, so that a query ends with an error if the peer is lost.
 */
export const openPool = ({ silenceMs, ...config }: pg.PoolConfig & { silenceMs: number }): pg.Pool =>
  new SafePool({
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
