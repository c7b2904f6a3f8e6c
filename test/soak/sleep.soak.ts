import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDatabase } from '#api/platform/database/client.ts'
import { freePort } from '#dev/ports.ts'
import { startSimulator } from '#test/crash/simulator.ts'
import { ask, pick } from '#test/model/model.ts'
import { findSleepers, findWrongWakes } from '#test/model/sleep.ts'
import { metricOf } from '#test/support/metrics.ts'
import { createPlayerServers, nobody } from '#test/support/playerServers.ts'
import { aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import type { WorldBody } from '#test/support/rest.ts'
import { countActs, lastMinute, makeDue, readDue } from '#test/support/schedules.ts'
import { drawSeed } from '#test/support/seed.ts'
import { aTenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'
import { seeded } from '#test/support/writers.ts'

const minutes = Number(process.env.ORRERY_SLEEP_MINUTES ?? 10)
const seed = drawSeed('ORRERY_SOAK_SEED')
const random = seeded(seed)
const worldCount = 50
const users = 200
const longestPauseMs = 100
/** The fraction of actions that kill a process. */
const killPart = 0.002
const sampleMs = 1_000
const maxMemoryMib = 300

type Harness = Awaited<ReturnType<typeof startHarness>>
let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness?.stop())

/** Starts an API, an operator and the simulated kubelet, whose servers answer the operator. */
const startHarness = async () => {
  const databaseUrl = await aDatabase()
  const database = openDatabase({ url: databaseUrl, poolSize: 2 })
  const servers = createPlayerServers()
  const simulator = startSimulator({ labelSelector: '', releases: false, servers })
  const port = await freePort()
  const start = {
    api: () =>
      startApi({
        databaseUrl,
        port,
        settings: { ORRERY_LIMIT_REQUESTS_PER_SECOND: '10000', ORRERY_LIMIT_STARTS_PER_MINUTE: '10000' },
      }),
    operator: () => startOperator({ ORRERY_QUEUE_POLL_MS: '1000', ORRERY_QUEUE_WRITE_MS: '1000' }),
  }
  const running = { api: await start.api(), operator: await start.operator() }
  return {
    db: database.db,
    servers,
    simulator,
    running,
    kill: async (which: 'api' | 'operator'): Promise<void> => {
      running[which].signal('SIGKILL')
      await running[which].exited
      if (which === 'api') running.api = await start.api()
      else running.operator = await start.operator()
    },
    stop: async (): Promise<void> => {
      await Promise.all([running.api.stop(), running.operator.stop()])
      await simulator.stop()
      await Promise.all([servers.close(), database.close()])
    },
  }
}

test(`after ${minutes} minutes in which ${worldCount} worlds sleep, wake and are started by schedules, exactly the worlds with players have a server`, async () => {
  const { db, servers, simulator, running, kill } = harness
  const tenant = await aTenant(running.api.url)
  const { organizationId } = tenant.scope
  const namespace = `orrery-${organizationId}`
  const user = await tenant.withToken('operator-of-users', [`${tenant.paths.organization}/**:*`])
  const runtime = { idleStopMinutes: 1, wakeOnAccess: 'Access', schedule: lastMinute('start') }
  const ids: string[] = []
  for (let at = 0; at < worldCount; at += 1) ids.push(await tenant.world({ runtime }))
  for (const id of ids) await tenant.rest.call('POST', `/api/worlds/${id}/start/`)

  const report = (id: string, active: number): void => servers.report(`${namespace}/${id}`, { active, queued: 0 })
  const passMinutes = (name: string) => simulator.passMinutes({ namespace, name }, 2).catch(() => undefined)
  const enter = (id: string) =>
    ask<{ hasAccess: boolean; reason?: string }>(
      user,
      'GET',
      `/api/worlds/${id}/users/user-${Math.floor(random() * users)}/access/`,
    )
  const acts: readonly ((id: string) => unknown)[] = [
    enter,
    enter,
    (id) => report(id, 3),
    (id) => report(id, 0),
    (id) => report(id, 0),
    passMinutes,
    passMinutes,
    passMinutes,
    (id) => ask(tenant.rest, 'POST', `/api/worlds/${id}/wake/`),
    async (id) => {
      await makeDue(db, id)
      dues += 1
    },
  ]
  const endMs = performance.now() + minutes * 60_000
  const broken = new Set<string>()
  let [did, dues, kills, mostMib] = [0, 0, 0, 0]
  const sampling = (async () => {
    while (performance.now() < endMs) {
      const { items } = await simulator.worlds.list({ namespace })
      for (const each of findSleepers(items, servers)) broken.add(each)
      const bytes = await metricOf(`${running.operator.url}/metrics`, /^process_resident_memory_bytes (\d+)$/gm).catch(
        () => 0,
      )
      mostMib = Math.max(mostMib, bytes / 2 ** 20)
      await delay(sampleMs)
    }
  })()
  while (performance.now() < endMs) {
    if (random() < killPart) {
      kills += 1
      await kill(random() < 0.5 ? 'api' : 'operator')
    }
    await pick(acts, random)?.(pick(ids, random) ?? '')
    did += 1
    await delay(random() * longestPauseMs)
  }
  await sampling
  await eventually('no schedule is due', async () => (await readDue(db, organizationId)).length === 0)

  const [full, empty] = [ids.slice(0, worldCount / 2), ids.slice(worldCount / 2)]
  for (const id of full) report(id, 1)
  for (const id of empty) servers.report(`${namespace}/${id}`, nobody)
  const phaseOf = async (id: string) => (await ask<WorldBody>(tenant.rest, 'GET', `/api/worlds/${id}/`))?.body.status
  for (const id of full) {
    await eventually(`${id} is Active with players`, async () => {
      await enter(id)
      const status = await phaseOf(id)
      return status?.phase === 'Active' && status.idle?.keptAwakeBy === 'Players'
    })
  }
  for (const id of empty) {
    await eventually(`${id} sleeps`, async () => {
      await passMinutes(id)
      return (await phaseOf(id))?.idle?.asleepSince !== undefined
    })
  }
  await eventually('the pods of the worlds with players, and no others', async () => {
    const { items } = await simulator.pods.list({ namespace })
    return (
      items
        .map(({ metadata }) => metadata.name)
        .sort()
        .join() === [...full].sort().join()
    )
  })
  const { rows } = await db.execute<{ sleeps: string; wakes: string }>(sql`
    select count(*) filter (where end_reason = 'Idle') as sleeps, count(woken_by) as wakes
    from deployments where organization_id = ${organizationId}`)
  const [totals] = rows
  const scheduled = [...(await countActs(db, organizationId)).values()].reduce((sum, each) => sum + each, 0)
  process.stdout.write(
    `sleep: seed ${seed}, ${did} acts, ${kills} kills, ${totals?.sleeps} sleeps, ${totals?.wakes} wakes, ${scheduled} acts of ${dues} due schedules, operator at most ${mostMib.toFixed(0)} MiB\n`,
  )
  expect([...broken]).toEqual([])
  expect(await findWrongWakes(db, organizationId)).toEqual([])
  expect(Number(totals?.wakes)).toBeGreaterThan(0)
  expect(scheduled).toBeGreaterThan(0)
  expect(scheduled).toBeLessThanOrEqual(dues)
  expect(mostMib).toBeLessThan(maxMemoryMib)
})
