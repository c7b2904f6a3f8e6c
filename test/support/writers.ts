import { setTimeout as delay } from 'node:timers/promises'
import { Client, Pool } from 'pg'
import type { createRest } from './rest.ts'
import { eventually } from './wait.ts'

/** The scope of the writers, and the number of documents: `doc-0` and so on. */
type WriterOptions = {
  readonly databaseUrl: string
  readonly organizationId: string
  readonly projectId: string
  readonly documents: number
  /** A client of each replica. */
  readonly rests: readonly ReturnType<typeof createRest>[]
  readonly random: () => number
}

/** The final row of a document; `n` is null if it is deleted. */
export type FinalRow = { readonly id: string; readonly version: Date; readonly n: number | null }

const sessions = 6
const longSessions = 2
const requesters = 4

/**
 * Creates writers of documents that use every kind of write: transactions of one and of many statements, held open,
 * rolled back in whole and in part, concurrent on the same rows, open during thousands of others, and requests to each
 * replica. They continue through every fault of the database. A counted commit has really happened.
 */
export const createWriters = (options: WriterOptions) => {
  const { databaseUrl, organizationId, random, rests } = options
  const control = new Pool({ connectionString: databaseUrl, max: 1 })
  // An idle connection was lost; the next query opens another one.
  control.on('error', () => undefined)
  const open = new Set<Session>()
  let committed = 0
  let unanswered = 0
  const inSession = async (isOver: () => boolean, transact: (session: Session) => Promise<number>): Promise<void> => {
    const session = createSession(databaseUrl)
    open.add(session)
    while (!isOver()) {
      try {
        // Two statements, since `committed += await …` would add to the count from before the wait.
        const kept = await transact(session)
        committed += kept
      } catch (error) {
        if (!isLost(error)) throw error
        unanswered += 1
        await session.close()
        await delay(50)
      }
    }
  }
  const request = async (rest: WriterOptions['rests'][number]): Promise<void> => {
    const path = `/api/documents/liveConfig/doc-${aDocument(options)}/`
    const isDeletion = random() < 0.05
    const { status } = isDeletion
      ? await rest.call('DELETE', path)
      : await rest.call('PUT', path, { data: dataOf(random), userId: 'w' })
    if (status === 200 || status === 204) committed += 1
    else if (status === 503) await delay(50).then(() => (unanswered += 1))
    else if (status !== 404) throw new Error(`a write through REST was answered with ${status}`)
  }
  return {
    committed: (): number => committed,
    /** Returns the number of transactions and requests whose result a fault has made unknown. */
    unanswered: (): number => unanswered,
    /** Writes until `changes` changes are committed. */
    run: async (changes: number): Promise<void> => {
      const isOver = (): boolean => committed >= changes
      const others = (count: number): Promise<unknown> => {
        const from = committed
        return eventually('others to commit', async () => isOver() || committed >= from + count, { timeoutMs: 120_000 })
      }
      await Promise.all([
        ...Array.from({ length: sessions }, () => inSession(isOver, (session) => transact(session, options))),
        ...Array.from({ length: longSessions }, (_, at) =>
          inSession(isOver, (session) =>
            transactLong(session, options, { at, meanwhile: () => others(Math.ceil(changes / 20)) }),
          ),
        ),
        ...Array.from({ length: requesters }, async (_, at) => {
          const rest = rests[at % rests.length]
          while (rest !== undefined && !isOver()) await request(rest)
        }),
      ])
    },
    /** Ends the sessions with which replicas read the changes, once each replica has one. */
    killTails: async (replicas: number): Promise<void> => {
      const tails = `from pg_stat_activity where application_name = 'orrery-realtime' and datname = current_database()`
      await eventually('a tail of each replica', async () => {
        const { rowCount } = await control.query(`select pid ${tails}`)
        return rowCount === replicas
      })
      const { rowCount } = await control.query(`select pg_terminate_backend(pid) ${tails}`)
      if (rowCount !== replicas) throw new Error(`${rowCount} tails of ${replicas} were there to be killed`)
    },
    /** Returns the pid of a backend process. Killing it crashes the whole server. */
    backend: async (): Promise<number> => {
      const { rows } = await control.query('select pg_backend_pid() as pid')
      return rows[0].pid
    },
    /** Reads all documents. */
    rows: async (): Promise<FinalRow[]> => {
      const { rows } = await control.query(
        `select id, version, (data -> 'config' ->> 'n')::int as n from documents where organization_id = $1 order by id`,
        [organizationId],
      )
      return rows
    },
    close: () => Promise.all([control.end(), ...[...open].map((session) => session.close())]),
  }
}

/** Creates a Postgres session that connects when it is first used. */
const createSession = (databaseUrl: string) => {
  let client: Client | undefined
  const connected = async (): Promise<Client> => {
    if (client !== undefined) return client
    client = new Client({ connectionString: databaseUrl, connectionTimeoutMillis: 5_000 })
    // The pending query rejects with this error too. Without a listener, it would end the process.
    client.on('error', () => undefined)
    await client.connect()
    return client
  }
  return {
    query: async (text: string, values?: unknown[]) => (await connected()).query(text, values),
    /** Closes the connection; the next query opens another one. */
    close: async (): Promise<void> => {
      const before = client
      client = undefined
      await before?.end().catch(() => undefined)
    },
  }
}
type Session = ReturnType<typeof createSession>

/**
 * Reports whether a query failed because its session was lost or refused (SQLSTATE class, socket error or pg's own), or because of a
 * deadlock: a transaction of several statements locks rows of the counts of its organization between the rows of its documents.
 */
const isLost = (error: unknown): boolean => {
  const { code = '', message = '' } = error as { code?: string; message?: string }
  return (
    /^(57P|08|40P01|ECONN|EPIPE)/.test(code) || /^Connection terminated|^timeout expired|not queryable/.test(message)
  )
}

/** Returns a document number, low ones most often. */
const aDocument = ({ random, documents }: WriterOptions): number => Math.floor(random() ** 2 * documents)

type Data = { readonly id: string; readonly config: { readonly n: number; readonly padding: string } }

/** Returns random data. One document of fifty is larger than a change record can hold. */
const dataOf = (random: () => number): Data => ({
  id: 'd',
  config: { n: Math.floor(random() * 1e9), padding: random() < 0.02 ? 'x'.repeat(20_000) : '' },
})

/** Returns random data whose stored size is always the same: an odd number of nine digits has no zeros that Postgres leaves out. */
const dataOfSameSize = (random: () => number): Data => ({
  id: 'd',
  config: { n: 100_000_001 + 2 * Math.floor(random() * 4e8), padding: '' },
})

const writeOrDelete = (session: Session, options: WriterOptions, id: string): Promise<void> =>
  writeDocument(session, options, { id, data: options.random() < 0.05 ? undefined : dataOf(options.random) })

/** Writes a document, or deletes it if `data` is undefined. */
const writeDocument = async (
  session: Session,
  { organizationId, projectId }: WriterOptions,
  { id, data }: { id: string; data: Data | undefined },
): Promise<void> => {
  await session.query(
    `insert into documents (organization_id, project_id, world_id, type, id, user_id, data, version, deleted_at)
     values ($1, $2, '', 'liveConfig', $3, 'w', $4, date_trunc('milliseconds', clock_timestamp()),
       case when $5::boolean then now() end)
     on conflict (organization_id, project_id, world_id, type, id) do update set data = excluded.data,
       deleted_at = excluded.deleted_at, version = greatest(excluded.version, documents.version + interval '1 millisecond')`,
    [organizationId, projectId, id, JSON.stringify(data ?? {}), data === undefined],
  )
}

/** Runs a random transaction and returns the number of committed changes. */
const transact = async (session: Session, options: WriterOptions): Promise<number> => {
  const { random } = options
  const size = random() < 0.5 ? 1 : 1 + Math.floor(random() * 6)
  // Writes in a fixed order, so that the rows of documents alone cause no deadlock.
  const ids = [...new Set(Array.from({ length: size }, () => aDocument(options)))].sort((a, b) => a - b)
  if (ids.length === 1 && random() < 0.5) {
    await writeOrDelete(session, options, `doc-${ids[0]}`)
    return 1
  }
  const isHeld = random() < 0.03
  const isRolledBack = random() < 0.1
  let kept = 0
  await session.query('begin')
  for (const id of ids) {
    const isUndone = random() < 0.05
    if (isUndone) await session.query('savepoint before')
    await writeOrDelete(session, options, `doc-${id}`)
    if (isUndone) await session.query('rollback to savepoint before')
    else kept += 1
  }
  if (isHeld) await delay(random() * 400)
  await session.query(isRolledBack ? 'rollback' : 'commit')
  return isRolledBack ? 0 : kept
}

/**
 * Runs a transaction that writes first and commits after many later transactions. It must not change the counts of the organization:
 * it would hold the lock on a row of them that other writers need. So its document exists before, with the same size.
 */
const transactLong = async (
  session: Session,
  options: WriterOptions,
  { at, meanwhile }: { at: number; meanwhile: () => Promise<unknown> },
): Promise<number> => {
  const write = (): Promise<void> =>
    writeDocument(session, options, { id: `long-${at}`, data: dataOfSameSize(options.random) })
  await write()
  await session.query('begin')
  await write()
  await meanwhile()
  await session.query('commit')
  return 2
}

/**
 * Returns a random number generator (mulberry32) that repeats its numbers for the same seed, so that a run can be
 * repeated.
 */
export const seeded = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
