import { readFileSync } from 'node:fs'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { and, eq, lt, sql } from 'drizzle-orm'
import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { purgeDeleted } from '#api/domain/deletion/purge.ts'
import { eraseDeletedDocuments } from '#api/domain/documents/cleanup.ts'
import { claimDeliveries } from '#api/domain/webhooks/queue.ts'
import { buildWorldRows } from '#api/domain/worlds/create.ts'
import { createScheduler, type SchedulerDeps } from '#api/domain/worlds/scheduler.ts'
import { createWorldBody } from '#api/domain/worlds/schema.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import { type Database, openDatabase } from '#api/platform/database/client.ts'
import { createLargeReads } from '#api/platform/database/largeReads.ts'
import { migrateDatabase } from '#api/platform/database/migrate.ts'
import { transformPicture } from '#api/platform/objects/picture.ts'
import { claimTurn, markAllDirty } from '#api/platform/outbox/outbox.ts'
import { createBatcher } from '#api/realtime/batcher.ts'
import { createInbox } from '#api/realtime/inbox.ts'
import { createUpgrade } from '#api/realtime/upgrade.ts'
import type { PollKind } from '#operator/world/execute/pollPace.ts'
import { createQueuePoll } from '#operator/world/execute/queuePoll.ts'
import { systemClock } from '#shared/clock.ts'
import { type SharedQueue, sharedQueues } from '#shared/fairQueue.ts'
import { createIdSource } from '#shared/ids.ts'
import { createEventRecorder } from '#shared/kube/events.ts'
import { createQueue } from '#shared/kube/queue.ts'
import { createLog } from '#shared/log.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { aConnection, aScope, createFakePeer } from '#test/support/fakePeer.ts'
import { aDatabase } from '#test/support/processes.ts'
import { eventually } from '#test/support/wait.ts'

let opened: ReturnType<typeof openDatabase>
beforeAll(async () => {
  const url = await aDatabase()
  await migrateDatabase({ url })
  opened = openDatabase({ url, poolSize: 2 })
  await opened.db.execute(sql`
    insert into organizations (id, name, tenant_id, features, created_at, updated_at)
      select id, id, id, '{}', now(), now() from unnest(array['a', 'a1', 'a2', 'a3', 'a4', 'b']) id`)
})
afterAll(() => opened?.close())

const log = createLog({ name: 'test', level: 'silent' })
const never = (): Promise<never> => new Promise(() => undefined)
const { signal } = new AbortController()
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate)
}

/** Adds items of `a`, and then one of `b`. Returns how many of `a` begin after that and before the one of `b`. */
type Flood = () => Promise<number>

/** Floods a queue that calls `served` for each item that begins. `go` lets it begin the next ones. */
const flood = async (
  count: number,
  start: (served: (owner: string) => void) => { add: (owner: string, at: number) => void; go?: () => unknown },
): Promise<number> => {
  const order: string[] = []
  const { add, go } = start((owner) => order.push(owner))
  for (let at = 0; at < count; at += 1) add('a', at)
  for (let turn = 0; turn < 2; turn += 1) {
    await settle()
    await go?.()
  }
  await settle()
  const before = order.length
  add('b', 0)
  await eventually('the item of b', async () => {
    await go?.()
    return order.includes('b')
  })
  return order.indexOf('b') - before
}

const floodBatcher =
  (name: SharedQueue): Flood =>
  () =>
    flood(1_000, (served) => {
      const batcher = createBatcher<string>({
        ...{ name, limit: 16, ownerOf: (item: string) => item.slice(0, 1), clock: systemClock, log, signal },
        work: async (items) => {
          for (const item of items) served(item.slice(0, 1))
          await settle()
          return []
        },
      })
      return { add: (owner, at) => batcher.add(`${owner}${at}`) }
    })

const floodPictures =
  (side: number): Flood =>
  async () => {
    const picture = await sharp({ create: { width: side, height: side, channels: 3, background: 'red' } })
      .png()
      .toBuffer()
    const order: string[] = []
    const given = [...Array(5).fill('a'), 'b'].map((owner: string) =>
      transformPicture(owner, picture).then(() => order.push(owner)),
    )
    await Promise.all(given)
    return order.indexOf('b')
  }

/** Polls servers that never respond: for the first time, after a request that failed, or to become Ready. */
const floodPolls =
  (kind: PollKind): Flood =>
  () => {
    const clock = createFakeClock()
    const asked = new Set<string>()
    const slots = kind === 'awaited' ? 128 : 32
    return flood(slots + 8, (served) => {
      const poll = createQueuePoll({
        clock,
        random: () => 0,
        changed: () => undefined,
        timing: { maxPerSecond: 1e9, maxRetriesPerSecond: 1e9 },
        ask: async ({ host }) => {
          if (kind === 'silent' && !asked.has(host)) return void asked.add(host)
          served(host.slice(0, 1))
          return never()
        },
      })
      const query = { protocol: 'A2S', port: 27_015, timeoutMs: 1e9 } as const
      const server = { capacity: 1, recorded: undefined, query, isAwaited: kind === 'awaited', isDue: false }
      return {
        add: (owner, at) => poll.start(`${owner}/w${at}`, { ...server, podUid: `${at}`, host: `${owner}${at}` }),
        go: () => clock.advance(60_000),
      }
    })
  }

/** Begins handshakes that are never answered. Their addresses are the owners. */
const floodHandshakes: Flood = () =>
  flood(100, (served) => {
    const upgrade = createUpgrade({
      ...{ clock: createFakeClock(), log, open: () => undefined, enter: () => () => undefined },
      clientAddress: ({ headers }) => String(headers.from),
      fetch: async (_, { incoming }) => {
        served(String(incoming.headers.from))
        return never()
      },
    })
    return {
      add: (owner) => {
        const request = new IncomingMessage(new Socket())
        const key = `${'0'.repeat(22)}==`
        request.headers = { from: owner, 'sec-websocket-version': '13', 'sec-websocket-key': key }
        void upgrade(request, new PassThrough(), Buffer.alloc(0))
      },
    }
  })

/** Sends messages that take a millisecond each. */
const floodMessages: Flood = () => {
  let nowMs = 0
  const inbox = createInbox({ monotonic: () => nowMs, overflow: () => undefined })
  const connectionOf = (organizationId: string) =>
    aConnection(createFakePeer().peer, { scope: { ...aScope, organizationId } })
  return flood(1_000, (served) => ({
    add: (owner) =>
      inbox.add(connectionOf(owner), 256, () => {
        nowMs += 1
        served(owner)
      }),
  }))
}

const floodPages: Flood = () => {
  const ends: (() => void)[] = []
  const run = createLargeReads(createFakeClock())
  return flood(10, (served) => ({
    add: (owner) => {
      const read = () => new Promise<void>((resolve) => ends.push(resolve))
      void run(owner, () => {
        served(owner)
        return read()
      })
    },
    go: () => ends.shift()?.(),
  }))
}

const floodResources: Flood = () => {
  const queue = createQueue({ clock: createFakeClock(), backoff: { baseMs: 5, maxMs: 500 } })
  return flood(100, (served) => ({
    add: (owner, at) => queue.add(`${owner}/w${at}`),
    go: async () => served((await queue.get())?.slice(0, 1) ?? ''),
  }))
}

const floodEvents: Flood = () => {
  const clock = createFakeClock()
  return flood(1_000, (served) => {
    const recorder = createEventRecorder({
      ...{ controller: 'test', instance: 'test', clock, random: () => 0, log },
      client: {
        create: async (event) => {
          served(event.metadata.namespace ?? '')
          return event
        },
        patch: never,
      },
    })
    void recorder.run(signal)
    const event = { type: 'Normal', reason: 'R', action: 'A', note: 'n' } as const
    const object = { apiVersion: 'v1', kind: 'Pod' }
    const nameOf = (owner: string, at: number) => ({ name: `p${at}`, namespace: owner, uid: `${owner}${at}` })
    const go = () => clock.advance(100)
    return { add: (owner, at) => recorder.record({ ...object, metadata: nameOf(owner, at) }, event), go }
  })
}

/** A claim beside 1,000 older marks of another organization. */
const floodPushes: Flood = async () => {
  const marks = (id: string, count: number) =>
    Array.from({ length: count }, (_, at) => ({ id: `${id}@c@${at}`, revision: 1 }))
  await opened.db.transaction((tx) => markAllDirty(tx, 'organization', [...marks('a', 1_000), ...marks('b', 1)]))
  const turn = { cluster: 'c', leaseMs: 60_000, limit: 8, maxOfOne: 4, except: [], after: undefined }
  const { claimed } = await claimTurn(opened.db, turn)
  return claimed.some(({ organizationId }) => organizationId === 'b') ? 0 : 1_000
}

/** The claims of a replica whose receivers of four organizations never answer, and then a claim with a message of another. */
const floodWebhooks: Flood = async () => {
  const { db } = opened
  await db.execute(sql`
    insert into webhooks (id, organization_id, url, events, is_active, sealed, created_at, updated_at)
      select id, id, 'https://hooks.example.com', '[]', true, '', now(), now() from organizations`)
  const addDeliveries = (pattern: string, count: number) =>
    db.execute(sql`
      insert into webhook_deliveries (id, organization_id, webhook_id, message_id, type, data, next_attempt_at, created_at)
        select id || n, id, id, id, 'webhook.test', '{}', to_timestamp(1), now()
        from organizations, generate_series(1, ${count}) n where id like ${pattern}`)
  await addDeliveries('a_', 200)
  let free = 64
  const claim = async (): Promise<string[]> => {
    const turn = { limit: free, reserve: 16, after: '', perWebhook: 16, perOrganization: 16 }
    const claimed = await claimDeliveries(db, { ...turn, leaseMs: 15_000, nowMs: 10_000 })
    free -= claimed.length
    return claimed.map(({ webhook }) => webhook.organizationId)
  }
  while ((await claim()).length > 0);
  await addDeliveries('b', 1)
  return (await claim()).includes('b') ? 0 : 64
}

/** Returns a database that calls back after each statement or transaction. */
const watched = (after: () => Promise<void>): Database =>
  new Proxy(opened.db, {
    get: (db, name) => {
      if (name === 'execute') return (query: Parameters<Database['execute']>[0]) => db.execute(query).finally(after)
      if (name !== 'transaction') return Reflect.get(db, name)
      return (...args: Parameters<Database['transaction']>) => db.transaction(...args).finally(after)
    },
  })

/** Runs house-keeping over 4,000 rows of `a` and one of `b`. Returns the batches of `a` that were done before the row of `b`. */
const floodHousekeeping = async (options: {
  readonly table: 'kept_documents' | 'documents'
  readonly isDone: string
  readonly batch: number
  readonly run: (db: Database) => Promise<void>
}): Promise<number> => {
  const { table, isDone, batch, run } = options
  const columns = 'organization_id, project_id, world_id, type, id, user_id, data'
  const version = table === 'documents' ? [', version', ', now()'] : ['', '']
  await opened.db.execute(
    sql.raw(`
    insert into ${table} (${columns}${version[0]})
      select o, 'p', '', 'kvStore', n, '', '{}'${version[1]} from unnest(array['a', 'b']) o, generate_series(1, 4000) n
      where o = 'a' or n = 1`),
  )
  const count = async (owner: string): Promise<number> => {
    const where = `organization_id = '${owner}' and not (${isDone})`
    const { rows } = await opened.db.execute<{ n: number }>(
      sql.raw(`select count(*)::int as n from ${table} where ${where}`),
    )
    return rows[0]?.n ?? 0
  }
  let before: number | undefined
  await run(
    watched(async () => {
      if (before === undefined && (await count('b')) === 0) before = (4_000 - (await count('a'))) / batch
    }),
  )
  return before ?? 4_000
}

/** A turn of the scheduler with 1,000 due actions of `a`, and a later one of `b`. Four are done at a time. */
const floodSchedules: Flood = async () => {
  const { db } = opened
  const newId = createIdSource({ now: systemClock.now })
  const runtime = { schedule: { start: '0 0 * * *' } }
  const input = createWorldBody.parse({ name: 'Lobby', transient: false, runtime })
  const countDue = async (organizationId: string): Promise<number> =>
    db.$count(worlds, and(eq(worlds.organizationId, organizationId), lt(sql`next_action ->> 'at'`, '2020')))
  const addDue = async (organizationId: string, count: number, at: string): Promise<void> => {
    const scope = { organizationId, projectId: `${organizationId}-project` }
    const common = { ...scope, cluster: 'default', newId, now: new Date(0) }
    await db.execute(sql`
      insert into projects (id, organization_id, name, created_at, updated_at)
        values (${scope.projectId}, ${organizationId}, 'p', now(), now())`)
    const due = { nextAction: { what: 'start' as const, at } }
    const rows = Array.from({ length: count }, () => ({ ...buildWorldRows(input, common).world, ...due }))
    await db.insert(worlds).values(rows)
  }
  await addDue('a', 1_000, '2019-01-01T00:00:00.000Z')
  await addDue('b', 1, '2019-01-02T00:00:00.000Z')
  let before: number | undefined
  const counted = watched(async () => {
    if (before === undefined && (await countDue('b')) === 0) before = 1_000 - (await countDue('a'))
  })
  const sync = { cluster: 'default', wakeSync: () => undefined, isBehind: () => false }
  const deps = { db: counted, clock: systemClock, newId, log, ...sync }
  await createScheduler(deps as unknown as SchedulerDeps)(signal)
  return Math.floor((before ?? 1_000) / 4)
}

/** Every shared queue has a flood, or this does not compile. */
const floods: Record<SharedQueue, Flood> = {
  pushes: floodPushes,
  webhooks: floodWebhooks,
  resources: floodResources,
  events: floodEvents,
  'readiness polls': floodPolls('answering'),
  'readiness retries': floodPolls('silent'),
  'first polls': floodPolls('awaited'),
  pictures: floodPictures(64),
  'large pictures': floodPictures(1_030),
  'large pages': floodPages,
  handshakes: floodHandshakes,
  messages: floodMessages,
  topics: floodBatcher('topics'),
  feeds: floodBatcher('feeds'),
  'feed projects': floodBatcher('feed projects'),
  credentials: floodBatcher('credentials'),
  purge: () =>
    floodHousekeeping({
      table: 'kept_documents',
      isDone: 'false',
      batch: 500,
      run: (db) => purgeDeleted({ db }, signal),
    }),
  schedules: floodSchedules,
  'deleted documents': () =>
    floodHousekeeping({
      table: 'documents',
      isDone: 'deleted_at is not null',
      batch: 1_000,
      run: (db) => eraseDeletedDocuments({ db, clock: systemClock }, signal),
    }),
}

test.each(sharedQueues)('an item of another owner waits for at most two turns of a flooded queue: %s', async (name) => {
  expect(await floods[name]()).toBeLessThanOrEqual(2)
})

test('docs/limits.md describes every shared queue', () => {
  const page = readFileSync('docs/limits.md', 'utf8')
  const section = page.split('## Queues that organizations share')[1]?.split('\n## ')[0] ?? ''
  const described = [...section.matchAll(/^\| `([^`]+)`/gm)].map(([, name]) => name)
  expect(described.sort()).toEqual([...sharedQueues].sort())
})
