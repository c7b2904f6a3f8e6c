import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Database, openDatabase } from '#api/platform/database/client.ts'
import { markDirty } from '#api/platform/outbox/outbox.ts'
import { createPush, type PushDeps } from '#api/sync/push/push.ts'
import { systemClock } from '#shared/clock.ts'
import { noTracing } from '#shared/tracing/tracing.ts'
import { createGate } from '#test/support/gate.ts'
import { aDatabase, startApi } from '#test/support/processes.ts'
import { inNewProject } from '#test/support/rest.ts'
import { getServers } from '#test/support/servers.ts'
import { eventually } from '#test/support/wait.ts'

/** The number of starts that may wait for a status while the API server is slow. */
const mayWait = 128
const worldCount = mayWait + 20
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }

let db: Database
let close: () => Promise<void>
let worldIds: string[]

/** Starts worlds that cannot be pushed, and ends the API. */
beforeAll(async () => {
  const url = await aDatabase()
  const gate = await createGate(getServers().apiKubeconfig)
  gate.close()
  const api = await startApi({
    databaseUrl: url,
    kubeconfig: gate.kubeconfig,
    settings: { ORRERY_LIMIT_MAX_RUNNING_CAPACITY: '1000000' },
  })
  const rest = await inNewProject(api.url)
  worldIds = []
  for (let at = 0; at < worldCount; at += 1) {
    const { body } = await rest.call<{ worldId: string }>('POST', '/api/worlds/', {
      name: `World ${at}`,
      transient: false,
    })
    worldIds.push(body.worldId)
    await rest.call('POST', `/api/worlds/${body.worldId}/start/`)
  }
  await api.stop()
  await gate.remove()
  const opened = openDatabase({ url, poolSize: 4 })
  db = opened.db
  close = opened.close
  await db.execute(sql`delete from cluster_outbox where kind <> 'world'`)
  await db.execute(sql`update cluster_outbox set lease_until = null, next_at = now()`)
})
afterAll(() => close?.())

/** Pushes to an API server that accepts an apply when the test allows it. Its clock stands still unless the test moves it. */
const pushSlowly = () => {
  let nowMs = 0
  const applied = new Set<string>()
  let accept = (): void => undefined
  let accepted = new Promise<void>((resolve) => (accept = resolve))
  const apply = async (desired: { metadata: { name: string } }): Promise<object> => {
    await accepted
    applied.add(desired.metadata.name)
    return {
      ...desired,
      metadata: { ...desired.metadata, uid: `uid of ${desired.metadata.name}`, resourceVersion: '1' },
    }
  }
  const push = createPush({
    db,
    worlds: { apply },
    bots: {},
    namespaces: { ensure: async () => undefined, update: async () => undefined },
    cluster: 'default',
    namespacePrefix: 'orrery',
    gate: { isRefused: () => false, check: async () => undefined },
    tracing: noTracing,
    clock: { ...systemClock, monotonic: () => nowMs },
    random: () => 0,
    log: quiet,
    onPushed: () => undefined,
    maxBackoffMs: 1_000,
    echoes: { record: (_: unknown, run: () => Promise<unknown>) => run() },
    cached: { world: () => undefined, bot: () => undefined },
    merge: { world: async () => undefined, bot: async () => undefined },
  } as unknown as PushDeps)
  const stop = new AbortController()
  const running = push.run(stop.signal)
  return {
    push,
    applied,
    /** Accepts the applies in progress after this time, and those that come later. */
    acceptAfter: (ms: number): void => {
      nowMs += ms
      accept()
      accepted = new Promise<void>((resolve) => (accept = resolve))
    },
    stop: async () => {
      stop.abort()
      await running
    },
  }
}

const keyOf = async (id: string): Promise<string> => {
  const { rows } = await db.execute<{ organizationId: string }>(
    sql`select organization_id as "organizationId" from worlds where id = ${id}`,
  )
  return `orrery-${rows[0]?.organizationId}/${id}`
}

test('while the API server is slow, starts wait for the statuses of others, and other changes do not wait', async () => {
  const { push, applied, acceptAfter, stop } = pushSlowly()
  const marksOf = async (isLeased: boolean): Promise<number> => {
    const { rows } = await db.execute(sql`select from cluster_outbox where (lease_until > now()) = ${isLeased}`)
    return rows.length
  }
  while (applied.size < mayWait) {
    const before = applied.size
    await eventually('starts are claimed', async () => (await marksOf(true)) > 0)
    acceptAfter(100)
    await eventually('they are applied', async () => applied.size > before && (await marksOf(true)) === 0)
  }
  expect(applied.size).toBe(mayWait)

  const last = worldIds.find((id) => !applied.has(id)) ?? ''
  await db.transaction((tx) => markDirty(tx, { kind: 'world', id: last, revision: 2, isStart: false }))
  push.wake()
  await eventually('another change is claimed', async () => (await marksOf(true)) === 1)
  acceptAfter(0)
  await eventually('it is applied', async () => applied.has(last))
  expect(applied.size).toBe(mayWait + 1)

  for (const id of [...applied].slice(0, 16)) push.reported(await keyOf(id))
  await eventually('starts are claimed again', async () => (await marksOf(true)) === 16)
  acceptAfter(0)
  await eventually('they are applied', async () => applied.size === mayWait + 17)
  acceptAfter(0)
  await stop()
})
