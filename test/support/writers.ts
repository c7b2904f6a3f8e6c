import { setTimeout as delay } from 'node:timers/promises'
import postgres from 'postgres'
import { isDatabaseAway } from '#api/http/problem.ts'

/** The scope that writers write in, and how many documents there are: `doc-0` and so on. */
export type WriterOptions = {
  readonly databaseUrl: string
  readonly organizationId: string
  readonly projectId: string
  readonly documents: number
  readonly random: () => number
}

/** A document as its row has it at the end. */
export type FinalRow = { readonly id: string; readonly version: Date; readonly n: number | null }

/**
 * Writers of documents that do all that a writer may: transactions of one and of many rows, short and held open, rolled
 * back, and concurrent on the same rows. They work through every fault of the database, and what they count as committed
 * is there after a crash of it.
 */
export const createWriters = ({ databaseUrl, organizationId, projectId, documents, random }: WriterOptions) => {
  const open = () =>
    postgres(databaseUrl, {
      max: 1,
      backoff: () => 0.1,
      onnotice: () => undefined,
      connection: { synchronous_commit: 'on' },
    })
  const sql = open()
  const sessions = Array.from({ length: 8 }, open)
  let committed = 0
  const write = (id: number): string => {
    const n = Math.floor(random() * 1e9)
    // One write of twenty is a deletion; one of fifty is larger than a change holds.
    const deleted = random() < 0.05
    const padding = random() < 0.02 ? 'x'.repeat(20_000) : ''
    const data = JSON.stringify(deleted ? {} : { id: 'd', config: { n, padding } })
    return `
      insert into documents (organization_id, project_id, world_id, type, id, user_id, data, version, deleted_at)
      values ('${organizationId}', '${projectId}', '', 'liveConfig', 'doc-${id}', 'w', '${data}',
        date_trunc('milliseconds', clock_timestamp()), ${deleted ? 'now()' : 'null'})
      on conflict (organization_id, project_id, world_id, type, id) do update set data = excluded.data,
        deleted_at = excluded.deleted_at, version = greatest(excluded.version, documents.version + interval '1 millisecond');`
  }
  /** A transaction goes to the server in one piece: the driver crashes when a session ends between two of its statements. */
  const transact = async (session: postgres.Sql): Promise<void> => {
    const kind = random()
    const size = kind < 0.6 ? 1 : 1 + Math.floor(random() * 8)
    // In one order, or two writers would wait for each other.
    const ids = [...new Set(Array.from({ length: size }, () => Math.floor(random() ** 2 * documents)))].sort(
      (a, b) => a - b,
    )
    const held = kind > 0.97 ? `select pg_sleep(${(random() * 0.4).toFixed(3)});` : ''
    const rolledBack = random() < 0.1
    try {
      await session.unsafe(`begin; ${ids.map(write).join('')} ${held} ${rolledBack ? 'rollback' : 'commit'};`)
      if (!rolledBack) committed += ids.length
    } catch (error) {
      if (!isDatabaseAway(error)) throw error
      await delay(50)
    }
  }
  return {
    committed: (): number => committed,
    /** Writes until so many changes are committed. */
    run: async (changes: number): Promise<void> => {
      await Promise.all(
        sessions.map(async (session) => {
          while (committed < changes) await transact(session)
        }),
      )
    },
    /** Ends the sessions by which replicas follow the changes; returns how many there were. */
    killTails: async (): Promise<number> => {
      const killed = await sql`select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'orrery-realtime' and datname = current_database()`
      return killed.length
    },
    /** The process of one session of the server. */
    backend: async (): Promise<number> => (await sql<{ pid: number }[]>`select pg_backend_pid() as pid`)[0]?.pid ?? 0,
    rows: (): Promise<FinalRow[]> =>
      sql<FinalRow[]>`select id, version, (data -> 'config' ->> 'n')::int as n from documents
        where organization_id = ${organizationId} order by id`,
    close: () => Promise.all([sql, ...sessions].map((each) => each.end({ timeout: 1 }))),
  }
}

/** Random numbers that are the same for the same seed (mulberry32), so that a failed run can be run again. */
export const seeded = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
