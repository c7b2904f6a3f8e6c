import pg from 'pg'
import { sleep, systemClock } from '#shared/clock.ts'

/** How long a new connection, or a turn with one of a pool, is waited for. */
const connectTimeoutMs = 5_000

/**
 * A pool that takes back each client whose session dies while it is lent out, whatever its borrower does about it:
 * drizzle does not release one whose `begin` failed, so that an outage of the database would use the pool up.
 */
class SafePool extends pg.Pool {
  readonly #deaths = new WeakMap<pg.PoolClient, Error>()

  constructor(config: pg.PoolConfig) {
    super(config)
    // Unheard, the error of a session that dies would end the process: while nobody uses it, and while it changes hands.
    this.on('error', () => undefined)
    this.on('connect', (client) => client.on('error', (error) => this.#deaths.set(client, error)))
  }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: ConnectCallback): void
  override connect(callback?: ConnectCallback): Promise<pg.PoolClient> | undefined {
    if (callback === undefined) return super.connect().then((client) => this.#lend(client))
    super.connect(callback)
    return undefined
  }

  #lend(client: pg.PoolClient): pg.PoolClient {
    const { release } = client
    let lent = true
    const giveBack = (error?: Error | boolean): void => {
      if (!lent) return
      lent = false
      client.off('error', giveBack)
      release(error)
    }
    client.release = giveBack
    client.on('error', giveBack)
    const death = this.#deaths.get(client)
    if (death === undefined) return client
    giveBack(death)
    throw death
  }
}

type ConnectCallback = Parameters<pg.Pool['connect']>[0]

/** Opens a pool; connections are made when needed, and again after the database was away. No wait for one is endless. */
export const openPool = (config: pg.PoolConfig): pg.Pool =>
  new SafePool({ connectionTimeoutMillis: connectTimeoutMs, keepAlive: true, ...config })

/**
 * Opens one session of its own: it never becomes another one behind its user's back. `lost` is called when it ends,
 * however that comes.
 */
export const openSession = async (config: pg.ClientConfig, lost: () => void = () => undefined): Promise<Session> => {
  const client = new pg.Client({ connectionTimeoutMillis: connectTimeoutMs, keepAlive: true, ...config })
  client.on('error', lost)
  client.once('end', lost)
  await client.connect()
  return {
    client,
    close: async () => {
      // A server that is silent for ever would never say good-bye.
      await Promise.race([client.end().catch(() => undefined), sleep(systemClock, 1_000)])
    },
  }
}

/** One session of Postgres. */
export type Session = { readonly client: pg.Client; close(): Promise<void> }
