import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Database, openDatabase } from '#api/platform/database/client.ts'
import { migrateDatabase } from '#api/platform/database/migrate.ts'
import {
  claimTurn,
  isDirty,
  markAllDirty,
  markDirty,
  retryLater,
  settleClaim,
  type Turn,
} from '#api/platform/outbox/outbox.ts'
import { clusterOutbox } from '#api/platform/outbox/table.ts'
import { aDatabase } from '#test/support/processes.ts'

let db: Database
let close: () => Promise<void>
beforeAll(async () => {
  const url = await aDatabase()
  // Replicas that start together take turns.
  await Promise.all([migrateDatabase({ url }), migrateDatabase({ url }), migrateDatabase({ url })])
  const opened = openDatabase({ url, poolSize: 8 })
  db = opened.db
  close = opened.close
})
afterAll(() => close?.())
beforeEach(() => db.delete(clusterOutbox))

const leaseMs = 60_000
const mark = (id: string, revision = 1) => db.transaction((tx) => markDirty(tx, { kind: 'world', id, revision }))
// The rows do not exist, so their marks have no cluster.
const claim = async (limit = 100, turn: Partial<Turn> = {}) => {
  const all = { cluster: '', leaseMs, limit, maxOfOne: limit, except: [], after: undefined }
  return (await claimTurn(db, { ...all, ...turn })).claimed
}
const ids = (claimed: readonly { id: string }[]) => claimed.map(({ id }) => id).sort()
/** Makes every mark older, as if the time had passed in the database. */
const pass = (ms: number) =>
  db.execute(sql`
    update cluster_outbox set next_at = next_at - ${ms} * interval '1 millisecond',
      lease_until = lease_until - ${ms} * interval '1 millisecond'`)

test('merges many changes of one row into one mark with the newest revision', async () => {
  await mark('a', 1)
  await mark('a', 2)
  expect(await claim()).toMatchObject([{ id: 'a', revision: 2 }])
})

test('a mark exists only if its transaction committed', async () => {
  await db
    .transaction(async (tx) => {
      await markDirty(tx, { kind: 'world', id: 'a', revision: 1 })
      throw new Error('rolled back')
    })
    .catch(() => undefined)
  expect(await claim()).toEqual([])
})

test('two claimers never hold the same mark', async () => {
  const all = Array.from({ length: 40 }, (_, at) => `w${String(at).padStart(2, '0')}`)
  await Promise.all(all.map((id) => mark(id)))
  const claims = await Promise.all(Array.from({ length: 8 }, () => claim(10)))
  const held = claims.flat().map(({ id }) => id)
  expect(new Set(held).size).toBe(held.length)
  expect(ids([...claims.flat(), ...(await claim())])).toEqual(all)
})

test('keeps a change that is marked while the mark is claimed', async () => {
  await mark('a', 1)
  const [held] = await claim()
  await mark('a', 2)
  expect(await claim()).toEqual([])
  if (held) await settleClaim(db, held)
  expect(await claim()).toMatchObject([{ id: 'a', revision: 2 }])
})

test('removes a completed mark, and reclaims one whose lease has expired', async () => {
  await mark('a')
  await mark('b')
  const [first, second] = await claim()
  if (first) await settleClaim(db, first)
  await pass(leaseMs / 2)
  expect(await claim()).toEqual([])
  await pass(leaseMs / 2)
  expect(ids(await claim())).toEqual([second?.id])
})

test('a failed mark is due after its backoff, or at once if the row changed', async () => {
  await mark('a')
  await mark('b')
  for (const held of await claim()) {
    if (held.id === 'b') await mark('b', 2)
    await retryLater(db, held, { delayMs: 60_000 })
  }
  expect(await claim()).toMatchObject([{ id: 'b', revision: 2, attempts: 0 }])
  await pass(60_000)
  expect((await claim()).filter(({ id }) => id === 'a')).toMatchObject([{ id: 'a', attempts: 1 }])
})

test('a mark is due at once by the time of the database, and its lease ends by that time', async () => {
  await mark('a')
  await claim()
  const { rows } = await db.execute<{ due: boolean; lease: number }>(sql`
    select next_at <= now() as due, extract(epoch from lease_until - now())::float8 * 1000 as lease from cluster_outbox`)
  expect(rows).toMatchObject([{ due: true }])
  expect(rows[0]?.lease).toBeLessThanOrEqual(leaseMs)
  expect(rows[0]?.lease).toBeGreaterThan(leaseMs - 30_000)
})

test('claims the oldest marks first', async () => {
  for (const id of ['c', 'a', 'b']) await mark(id)
  await db.execute(sql`
    update cluster_outbox set next_at = now() - case id when 'c' then 3 when 'a' then 2 else 1 end * interval '1 second'`)
  expect(ids(await claim(2))).toEqual(['a', 'c'])
  expect(ids(await claim())).toEqual(['b'])
})

/** Marks limits of organizations, whose marks name their organization and their cluster. The first are the oldest. */
const markOrganizations = async (organizations: readonly string[]) => {
  const marked = organizations.map((organization, at) => ({ id: `${organization}@c@${at}`, revision: 1 }))
  await db.transaction((tx) => markAllDirty(tx, 'organization', marked))
  await db.execute(sql`
    update cluster_outbox set next_at = now() - interval '1 hour' + split_part(id, '@', 3)::int * interval '1 millisecond'`)
}
const repeat = (organization: string, count: number) => Array.from({ length: count }, () => organization)

test('a mark of an organization is claimed in the first batch beside 20,000 older marks of another', async () => {
  await markOrganizations([...repeat('a', 20_000), 'b', 'c'])
  const claimed = await claim(24, { cluster: 'c', maxOfOne: 8 })
  expect(claimed.map(({ organizationId }) => organizationId).sort()).toEqual([...repeat('a', 8), 'b', 'c'])
  expect(ids(claimed.filter(({ organizationId }) => organizationId === 'a'))).toEqual(
    Array.from({ length: 8 }, (_, at) => `a@c@${at}`),
  )
})

test('no statement reads all marks, although Postgres planned it when there were few', async ({ skip }) => {
  const { rows: flushes } = await db.execute(sql`select from pg_proc where proname = 'pg_stat_force_next_flush'`)
  skip(flushes.length === 0, 'Postgres 14 completes its counters later')
  const url = await aDatabase()
  await migrateDatabase({ url })
  // One session, whose counters are complete after each statement.
  const one = openDatabase({ url, poolSize: 1 })
  const countRead = async (act: () => Promise<unknown>): Promise<number> => {
    const count = async (): Promise<number> => {
      await one.db.execute(sql`select pg_stat_force_next_flush()`)
      const { rows } = await one.db.execute<{ read: number }>(sql`
        select (seq_tup_read + idx_tup_fetch)::int as read from pg_stat_user_tables where relname = 'cluster_outbox'`)
      return rows[0]?.read ?? Number.NaN
    }
    const before = await count()
    await act()
    return (await count()) - before
  }
  const claimOne = async () => {
    const turn = { cluster: 'c', leaseMs, limit: 24, maxOfOne: 8, except: [], after: undefined }
    const [first] = (await claimTurn(one.db, turn)).claimed
    if (first === undefined) throw new Error('nothing was claimed')
    return first
  }
  const marks = (count: number) => Array.from({ length: count }, (_, at) => ({ id: `a@c@${at}`, revision: 1 }))
  const markAll = (count: number) => one.db.transaction((tx) => markAllDirty(tx, 'organization', marks(count)))
  const uses: Record<string, () => Promise<unknown>> = {
    claim: claimOne,
    'claim and retry': async () => retryLater(one.db, await claimOne(), { delayMs: 0 }),
    'claim and settle': async () => settleClaim(one.db, await claimOne()),
    isDirty: () => one.db.transaction((tx) => isDirty(tx, 'organization', 'a@c@7')),
    mark: () => markAll(1),
  }
  for (let round = 0; round < 20; round += 1) {
    for (const use of Object.values(uses)) {
      await markAll(8)
      if (round === 3) await one.db.execute(sql`analyze cluster_outbox`)
      await use()
      await one.db.delete(clusterOutbox)
    }
    if (round === 5) await one.db.execute(sql`vacuum analyze cluster_outbox`)
    // The pages of the empty table stay, as after an automatic analyze.
    if (round === 19) await one.db.execute(sql`analyze cluster_outbox`)
  }
  await markAll(20_000)
  const read: Record<string, number> = {}
  for (const [name, use] of Object.entries(uses)) read[name] = await countRead(use)
  await one.close()
  expect(Object.entries(read).filter(([, count]) => !(count < 200))).toEqual([])
})

test('the next turn begins behind the last organization, and a turn can leave organizations out', async () => {
  await markOrganizations([...repeat('a', 3), ...repeat('b', 3), ...repeat('c', 3)])
  const turn = (more: Partial<Turn>) =>
    claimTurn(db, { cluster: 'c', leaseMs, limit: 3, maxOfOne: 2, except: [], after: undefined, ...more })
  const first = await turn({})
  expect([first.last, ids(first.claimed)]).toEqual(['b', ['a@c@0', 'a@c@1', 'b@c@3']])
  const second = await turn({ after: 'b', limit: 9 })
  expect([second.last, ids(second.claimed)]).toEqual([undefined, ['c@c@6', 'c@c@7']])
  const third = await turn({ except: ['a', 'c'], limit: 9 })
  expect(ids(third.claimed)).toEqual(['b@c@4', 'b@c@5'])
})

test('a turn visits a bounded number of organizations, and names the last one', async () => {
  const organizations = Array.from({ length: 300 }, (_, at) => `o${String(at).padStart(3, '0')}`)
  await markOrganizations([...organizations, 'x'])
  await db.execute(sql`update cluster_outbox set next_at = now() + interval '1 hour' where organization_id <> 'x'`)
  const seen: (string | undefined)[] = []
  for (let after: string | undefined, turn = 0; turn < 3; turn += 1) {
    const { claimed, last } = await claimTurn(db, { cluster: 'c', leaseMs, limit: 8, maxOfOne: 8, except: [], after })
    seen.push(last, ...ids(claimed))
    after = last
  }
  expect(seen).toEqual(['o127', 'o255', undefined, 'x@c@300'])
})

test('marks many rows at once, of which only those are dirty; one keeps the trace of an earlier change', async () => {
  const marked = Array.from({ length: 3_000 }, (_, at) => ({ id: `w${at}`, revision: at }))
  await db.transaction((tx) => markAllDirty(tx, 'world', marked, 'trace 1'))
  await db.transaction((tx) => markAllDirty(tx, 'world', [{ id: 'w1', revision: Number.MAX_SAFE_INTEGER }]))
  await db.transaction((tx) => markAllDirty(tx, 'world', []))
  const isMarked = (kind: 'world' | 'bot', id: string) => db.transaction((tx) => isDirty(tx, kind, id))
  expect([await isMarked('world', 'w2999'), await isMarked('bot', 'w1'), await isMarked('world', 'w3000')]).toEqual([
    true,
    false,
    false,
  ])
  const claims = await claim(5_000)
  expect(claims).toHaveLength(3_000)
  const revisions = new Map(claims.map(({ id, revision }) => [id, revision]))
  for (const { id, revision } of marked) if (id !== 'w1') expect(revisions.get(id)).toBe(revision)
  expect(claims.find(({ id }) => id === 'w1')).toMatchObject({
    kind: 'world',
    revision: Number.MAX_SAFE_INTEGER,
    epoch: 2,
    attempts: 0,
    traceparent: 'trace 1',
  })
})
