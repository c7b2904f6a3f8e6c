import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Database, openDatabase } from '#api/platform/database/client.ts'
import { migrateDatabase } from '#api/platform/database/migrate.ts'
import { claimMarks, markDirty, retryLater, settleClaim } from '#api/platform/outbox/outbox.ts'
import { clusterOutbox } from '#api/platform/outbox/table.ts'
import { aDatabase } from '#test/support/processes.ts'

let db: Database
let close: () => Promise<void>
beforeAll(async () => {
  const url = await aDatabase()
  // Replicas that start together take turns.
  await Promise.all([migrateDatabase(url), migrateDatabase(url), migrateDatabase(url)])
  const opened = openDatabase({ url, poolSize: 8 })
  db = opened.db
  close = opened.close
})
afterAll(() => close?.())
beforeEach(() => db.delete(clusterOutbox))

const nowMs = Date.UTC(2026, 0, 1)
const mark = (id: string, revision = 1, atMs = nowMs) =>
  db.transaction((tx) => markDirty(tx, { kind: 'world', id, revision }, atMs))
const claimAt = (atMs: number, limit = 100) => claimMarks(db, { limit, leaseMs: 1_000, nowMs: atMs })
const ids = (claimed: { id: string }[]) => claimed.map(({ id }) => id).sort()

test('merges many changes of one row into one mark with the newest revision', async () => {
  await mark('a', 1)
  await mark('a', 2)
  expect(await claimAt(nowMs)).toMatchObject([{ id: 'a', revision: 2 }])
})

test('a mark exists only if its transaction committed', async () => {
  await db
    .transaction(async (tx) => {
      await markDirty(tx, { kind: 'world', id: 'a', revision: 1 }, nowMs)
      throw new Error('rolled back')
    })
    .catch(() => undefined)
  expect(await claimAt(nowMs)).toEqual([])
})

test('two claimers never hold the same mark', async () => {
  const all = Array.from({ length: 40 }, (_, at) => `w${String(at).padStart(2, '0')}`)
  await Promise.all(all.map((id) => mark(id)))
  const claims = await Promise.all(Array.from({ length: 8 }, () => claimAt(nowMs, 10)))
  const held = claims.flat().map(({ id }) => id)
  expect(new Set(held).size).toBe(held.length)
  expect(ids([...claims.flat(), ...(await claimAt(nowMs))])).toEqual(all)
})

test('keeps a change that is marked while the mark is claimed', async () => {
  await mark('a', 1)
  const [held] = await claimAt(nowMs)
  await mark('a', 2)
  expect(await claimAt(nowMs)).toEqual([])
  if (held) await settleClaim(db, held)
  expect(await claimAt(nowMs)).toMatchObject([{ id: 'a', revision: 2 }])
})

test('removes a completed mark, and reclaims one whose lease has expired', async () => {
  await mark('a')
  await mark('b')
  const [first, second] = await claimAt(nowMs)
  if (first) await settleClaim(db, first)
  expect(await claimAt(nowMs + 999)).toEqual([])
  expect(ids(await claimAt(nowMs + 1_000))).toEqual([second?.id])
})

test('a failed mark is due after its backoff, or at once if the row changed', async () => {
  await mark('a')
  await mark('b')
  for (const held of await claimAt(nowMs)) {
    if (held.id === 'b') await mark('b', 2)
    await retryLater(db, held, { delayMs: 500, nowMs })
  }
  expect(await claimAt(nowMs)).toMatchObject([{ id: 'b', revision: 2, attempts: 0 }])
  expect(await claimAt(nowMs + 500)).toMatchObject([{ id: 'a', attempts: 1 }])
})
