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
/** Room is given to this many starts at a time. */
const leastRoom = 16
const worldCount = mayWait + 2 * leastRoom
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
    settings: { ORRERY_LIMIT_MAX_RUNNING_CAPACITY: '1000000', ORRERY_LIMIT_REQUEST_BURST: '1000' },
  })
  const rest = await inNewProject(api.url)
  worldIds = []
  for (let at = 0; at < worldCount; at += 1) {
    const { body } = await rest.call<{ worldId: string }>('POST', '/api/worlds/', {
      name: `World ${at}`,
      transient: false,
    })
    worldIds.push(body.worldId)
    const { status } = await rest.call('POST', `/api/worlds/${body.worldId}/start/`)
    expect(status).toBe(200)
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
  const begun = new Set<string>()
  const applied = new Set<string>()
  let accept = (): void => undefined
  let accepted = new Promise<void>((resolve) => (accept = resolve))
  const apply = async (desired: { metadata: { name: string } }): Promise<object> => {
    begun.add(desired.metadata.name)
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
    /** Returns the number of applies in progress. */
    inProgress: () => begun.size - applied.size,
    /** Accepts the applies in progress, after this time. */
    acceptAfter: (ms: number): void => {
      nowMs += ms
      accept()
      accepted = new Promise<void>((resolve) => (accept = resolve))
    },
    stop: async () => {
      stop.abort()
      accept()
      accepted = Promise.resolve()
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
  const { push, applied, inProgress, acceptAfter, stop } = pushSlowly()
  const acceptAll = async (ms: number): Promise<void> => {
    await eventually('changes are pushed', async () => inProgress() > 0)
    const before = applied.size
    acceptAfter(ms)
    await eventually('they are applied', async () => applied.size > before)
  }
  while (inProgress() > 0 || applied.size <= mayWait - leastRoom) await acceptAll(100)
  const waiting = [...applied]
  expect(waiting.length).toBeLessThanOrEqual(mayWait)

  const last = worldIds.find((id) => !applied.has(id)) ?? ''
  await db.transaction((tx) => markDirty(tx, { kind: 'world', id: last, revision: 2, isStart: false }))
  push.wake()
  await acceptAll(0)
  expect([...applied]).toEqual([...waiting, last])

  for (const id of waiting.slice(0, leastRoom)) push.reported(await keyOf(id))
  await eventually('starts are pushed again', async () => inProgress() >= leastRoom)
  acceptAfter(0)
  await stop()
})
