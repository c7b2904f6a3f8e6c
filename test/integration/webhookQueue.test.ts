import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { organizations } from '#api/domain/organizations/table.ts'
import { deliverWebhooks } from '#api/domain/webhooks/delivery.ts'
import {
  type Claim,
  type ClaimedDelivery,
  claimDeliveries,
  countPending,
  deleteExcessDeliveries,
  deleteOldDeliveries,
  disableBacklogged,
  readOldestDueSeconds,
  settleDelivery,
} from '#api/domain/webhooks/queue.ts'
import { webhookDeliveries, webhooks } from '#api/domain/webhooks/table.ts'
import { webhookContext } from '#api/domain/webhooks/webhooks.ts'
import { openDatabase } from '#api/platform/database/client.ts'
import { migrateDatabase } from '#api/platform/database/migrate.ts'
import { createSealer } from '#api/platform/secrets/seal.ts'
import { newSigningSecret } from '#api/platform/webhooks/signature.ts'
import { createIdSource } from '#shared/ids.ts'
import { createLog } from '#shared/log.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { aDatabase } from '#test/support/processes.ts'
import { eventually } from '#test/support/wait.ts'

let database: ReturnType<typeof openDatabase>
let clock: ReturnType<typeof createFakeClock>
const startMs = Date.parse('2026-11-22T08:00:00Z')
const leaseMs = 15_000
const newId = createIdSource({ now: () => startMs })
const sealer = createSealer([{ id: 'k1', key: Buffer.alloc(32, 1) }])
const signal = new AbortController().signal

beforeAll(async () => {
  const url = await aDatabase()
  await migrateDatabase({ url })
  database = openDatabase({ url, poolSize: 4 })
})
afterAll(() => database?.close())
beforeEach(async () => {
  clock = createFakeClock(startMs)
  await database.db.delete(webhooks)
})

/** Adds an organization with webhooks that each have so many due deliveries. */
const anOwner = async (...backlogs: number[]) => {
  const { db } = database
  const organizationId = newId('organization')
  const at = new Date(startMs)
  const common = { organizationId, createdAt: at }
  await db.insert(organizations).values({
    id: organizationId,
    name: 'Acme',
    tenantId: 'acme',
    features: {},
    createdAt: at,
    updatedAt: at,
  })
  const webhookIds: string[] = []
  for (const backlog of backlogs) {
    const id = newId('webhook')
    webhookIds.push(id)
    const sealed = sealer.seal(newSigningSecret(), webhookContext({ id, organizationId }))
    const url = `https://hooks.example.com/${id}`
    await db.insert(webhooks).values({ ...common, id, url, events: [], isActive: true, sealed, updatedAt: at })
    const rows = Array.from({ length: backlog }, () => ({
      ...common,
      id: newId('delivery'),
      webhookId: id,
      messageId: newId('message'),
      type: 'webhook.test' as const,
      data: {},
      nextAttemptAt: at,
    }))
    if (rows.length > 0) await db.insert(webhookDeliveries).values(rows)
  }
  return { organizationId, webhookIds }
}

const claim = (turn: Partial<Claim> = {}) =>
  claimDeliveries(database.db, {
    limit: 100,
    reserve: 0,
    after: '',
    perWebhook: 100,
    perOrganization: 100,
    leaseMs,
    nowMs: clock.now(),
    ...turn,
  })
const countBy = (claimed: readonly ClaimedDelivery[], of: (each: ClaimedDelivery) => string) =>
  Object.fromEntries([...Map.groupBy(claimed, of)].map(([key, each]) => [key, each.length]))
const settle = (claimed: ClaimedDelivery, status: 'Delivered' | 'Pending', nextAttemptMs = clock.now()) =>
  settleDelivery({ db: database.db, newId }, claimed, {
    attempt: {
      status,
      nextAttemptAt: new Date(nextAttemptMs),
      lastAttemptAt: new Date(clock.now()),
      statusCode: 200,
      failure: null,
    },
    health: undefined,
  })

test('claims at most the free attempts of each webhook and organization, however long a backlog is', async () => {
  const [long, short] = [await anOwner(300, 2), await anOwner(3)]
  const most = { perWebhook: 4, perOrganization: 5 }
  const first = await claim(most)
  expect(countBy(first, ({ webhook }) => webhook.organizationId)).toEqual({
    [long.organizationId]: 5,
    [short.organizationId]: 3,
  })
  expect(countBy(first, ({ webhook }) => webhook.id)[long.webhookIds[0] ?? '']).toBeLessThanOrEqual(4)
  expect(await claim(most)).toEqual([])
  const ended = first.find(({ webhook }) => webhook.organizationId === long.organizationId)
  if (ended === undefined) throw new Error('nothing was claimed')
  await settle(ended, 'Delivered')
  expect(await claim(most)).toHaveLength(1)
})

test('organizations take turns, and those without an attempt under way have the last ones', async () => {
  const owners = [await anOwner(9), await anOwner(9), await anOwner(1)].map(({ organizationId }) => organizationId)
  const [a = '', b = '', c = ''] = owners.sort()
  const owned = (claimed: readonly ClaimedDelivery[]) => countBy(claimed, ({ webhook }) => webhook.organizationId)
  const later = { nextAttemptAt: new Date(startMs + 1_000) }
  await database.db.update(webhookDeliveries).set(later).where(eq(webhookDeliveries.organizationId, c))
  expect(owned(await claim({ limit: 8, reserve: 3, after: a }))).toEqual({ [b]: 3, [a]: 2 })
  expect(owned(await claim({ limit: 3, reserve: 3 }))).toEqual({})
  clock.advance(1_000)
  expect(owned(await claim({ limit: 3, reserve: 3 }))).toEqual({ [c]: 1 })
})

test('gives one delivery to one of several replicas that claim at the same time', async () => {
  await anOwner(50)
  const claimed: ClaimedDelivery[] = []
  for (let round = 0; round < 30 && claimed.length < 50; round += 1) {
    const results = await Promise.all([claim({ limit: 5 }), claim({ limit: 5 }), claim({ limit: 5 })])
    claimed.push(...results.flat())
  }
  expect(new Set(claimed.map(({ delivery }) => delivery.id)).size).toBe(50)
  expect(claimed).toHaveLength(50)
})

test('claims an interrupted attempt again after its lease, and ignores the late end of the first', async () => {
  await anOwner(1)
  const [lost] = await claim()
  clock.advance(leaseMs - 1)
  expect(await claim()).toEqual([])
  clock.advance(1)
  const [again] = await claim()
  expect(again?.delivery).toMatchObject({ id: lost?.delivery.id, messageId: lost?.delivery.messageId, attempts: 2 })
  if (lost === undefined || again === undefined) throw new Error('nothing was claimed')
  await settle(lost, 'Delivered')
  expect(await countPending(database.db, 10)).toBe(1)
  await settle(again, 'Delivered')
  expect(await countPending(database.db, 10)).toBe(0)
})

test('claims nothing of an inactive webhook or a deleted organization, until it is active or restored', async () => {
  const [inactive, deleted] = [await anOwner(1), await anOwner(1)]
  const { db } = database
  const setActive = (isActive: boolean) =>
    db.update(webhooks).set({ isActive }).where(eq(webhooks.organizationId, inactive.organizationId))
  const setDeleting = (deletingAt: Date | null) =>
    db.update(organizations).set({ deletingAt }).where(eq(organizations.id, deleted.organizationId))
  await setActive(false)
  await setDeleting(new Date(startMs))
  expect(await claim()).toEqual([])
  await setActive(true)
  await setDeleting(null)
  expect(await claim()).toHaveLength(2)
})

test('the oldest due delivery waits from its next attempt on, of active webhooks and present organizations only', async () => {
  const { db } = database
  const waited = () => readOldestDueSeconds(db, clock.now())
  expect(await waited()).toBe(0)
  const [{ organizationId }] = [await anOwner(2, 1)]
  clock.advance(60_000)
  expect(await waited()).toBe(60)
  const claimed = await claim()
  expect(await waited()).toBe(0)
  const [first] = claimed
  if (first === undefined) throw new Error('nothing was claimed')
  await settle(first, 'Pending', clock.now() + 30_000)
  expect(await waited()).toBe(0)
  clock.advance(40_000)
  // The leases of the others have ended 25 s ago.
  expect(await waited()).toBe(25)
  await db
    .update(organizations)
    .set({ deletingAt: new Date(startMs) })
    .where(eq(organizations.id, organizationId))
  expect(await waited()).toBe(0)
  await db.update(organizations).set({ deletingAt: null }).where(eq(organizations.id, organizationId))
  await db.update(webhooks).set({ isActive: false })
  expect(await waited()).toBe(0)
})

test('repeats a delivery that gets 500 after growing delays, and deactivates the webhook after five days', async () => {
  const { webhookIds } = await anOwner(1)
  const sentAtMs: number[] = []
  const stopping = new AbortController()
  const delivery = deliverWebhooks(
    {
      db: database.db,
      sealer,
      clock,
      newId,
      random: () => 0,
      log: createLog({ name: 'test', level: 'error' }),
      metrics: { observe: () => undefined },
      send: async () => {
        sentAtMs.push(clock.now())
        return { statusCode: 500 }
      },
    },
    {
      maxAttempts: 3,
      disableAfterMs: 5 * 24 * 3_600_000,
      timeoutMs: 10_000,
      concurrency: { perReplica: 4, perOrganization: 4, perWebhook: 4 },
    },
    stopping.signal,
  )
  const readRow = async () => (await database.db.select().from(webhookDeliveries))[0]
  const advanceUntil = (what: string, isReached: () => Promise<boolean | undefined>) =>
    eventually(what, async () => {
      clock.advance(500)
      return isReached()
    })
  await advanceUntil('the delivery has failed', async () => (await readRow())?.status === 'Failed')
  const delays = sentAtMs.slice(1).map((at, before) => at - (sentAtMs[before] ?? 0))
  expect(delays).toHaveLength(2)
  expect(delays[0]).toBeGreaterThanOrEqual(5_000)
  expect(delays[1]).toBeGreaterThanOrEqual(25_000)
  const readWebhook = async () => (await database.db.select().from(webhooks))[0]
  expect(await readWebhook()).toMatchObject({ id: webhookIds[0], isActive: true, disabledReason: null })

  clock.advance(5 * 24 * 3_600_000)
  await database.db.update(webhookDeliveries).set({ status: 'Pending', attempts: 0 })
  await advanceUntil('the webhook is inactive', async () => (await readWebhook())?.isActive === false)
  expect(await readWebhook()).toMatchObject({ disabledReason: 'Failing' })
  stopping.abort()
  await delivery
})

test('deletes deliveries that are older than the retention, and no others', async () => {
  await anOwner(7)
  await database.db
    .update(webhookDeliveries)
    .set({ createdAt: new Date(startMs + 1_000) })
    .where(eq(webhookDeliveries.id, (await database.db.select().from(webhookDeliveries))[0]?.id ?? ''))
  await deleteOldDeliveries(database.db, startMs + 1_000, signal)
  expect(await database.db.$count(webhookDeliveries)).toBe(1)
})

test('keeps the newest deliveries of each webhook and all pending ones, and deletes the others', async () => {
  const { webhookIds } = await anOwner(5, 2)
  const [first = '', second = ''] = webhookIds
  const { db } = database
  const ids = (await db.select().from(webhookDeliveries).where(eq(webhookDeliveries.webhookId, first))).map(
    ({ id }) => id,
  )
  for (const [at, id] of ids.entries()) {
    const status = at === 0 ? 'Pending' : at === 1 ? 'Failed' : 'Delivered'
    const createdAt = new Date(startMs + at * 1_000)
    await db.update(webhookDeliveries).set({ status, createdAt }).where(eq(webhookDeliveries.id, id))
  }
  await db.update(webhookDeliveries).set({ status: 'Delivered' }).where(eq(webhookDeliveries.webhookId, second))
  await deleteExcessDeliveries(db, 2, signal)
  const kept = await db.select().from(webhookDeliveries)
  expect(kept.filter(({ webhookId }) => webhookId === first).map(({ id }) => ids.indexOf(id))).toEqual([0, 3, 4])
  expect(kept.filter(({ webhookId }) => webhookId === second)).toHaveLength(2)
})

test('deactivates a webhook whose backlog is too long', async () => {
  const { webhookIds } = await anOwner(3, 2)
  await disableBacklogged({ db: database.db, clock, newId }, 2)
  const rows = await database.db.select().from(webhooks)
  const states = Object.fromEntries(rows.map(({ id, isActive, disabledReason }) => [id, [isActive, disabledReason]]))
  expect(states).toEqual({ [webhookIds[0] ?? '']: [false, 'Backlog'], [webhookIds[1] ?? '']: [true, null] })
})
