import { eq, sql } from 'drizzle-orm'
import { afterEach, expect, test } from 'vitest'
import { worlds } from '#api/domain/worlds/table.ts'
import { openDatabase } from '#api/platform/database/client.ts'
import { migrateDatabase } from '#api/platform/database/migrate.ts'
import { openSession } from '#api/platform/database/pool.ts'
import { type Leadership, whileLeader } from '#api/sync/clusters/leader.ts'
import { systemClock } from '#shared/clock.ts'
import { createLog } from '#shared/log.ts'
import { aCluster } from '#test/support/cluster.ts'
import { createTcpGate } from '#test/support/gate.ts'
import { type ApiProcess, aDatabase, logLines, startApi } from '#test/support/processes.ts'
import { aTenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

/** The longest time from the silence of a leader until another replica pulls. */
const takeoverMs = 15_000
const cluster = aCluster()
const undo: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each()
})

const leads = (api: ApiProcess): boolean =>
  logLines(api.logFile).some(({ msg }) => msg === 'pull: this replica is the leader')

/** Two replicas, of which the first leads. Its way to Postgres leads through the gate. */
const twoReplicas = async () => {
  const databaseUrl = await aDatabase()
  const gate = await createTcpGate(new URL(databaseUrl))
  const gated = new URL(databaseUrl)
  gated.port = String(gate.port)
  const leader = await startApi({ databaseUrl: gated.href })
  undo.push(gate.remove, () => leader.stop())
  await eventually('the first leads', async () => leads(leader))
  const standby = await startApi({ databaseUrl })
  undo.push(() => standby.stop())
  const tenant = await aTenant(standby.url)
  const world = await tenant.world()
  const namespace = `orrery-${tenant.scope.organizationId}`
  const { db, close } = openDatabase({ url: databaseUrl, poolSize: 2 })
  undo.push(close)
  const row = async () => (await db.select().from(worlds).where(eq(worlds.id, world)))[0]
  await eventually('the world is applied', async () => typeof (await row())?.resourceUid === 'string')
  /** Writes a status as the operator would. */
  const writeStatus = (message: string) =>
    cluster.transport.request({
      method: 'PATCH',
      path: `/apis/orrery.dev/v1alpha1/namespaces/${namespace}/worlds/${world}/status`,
      contentType: 'application/merge-patch+json',
      body: { status: { phase: 'Stopped', message, observedRevision: 1 } },
    })
  const isPulled = (message: string, limits?: { timeoutMs: number }) =>
    eventually(`the status ${message} is in the row`, async () => (await row())?.statusMessage === message, limits)
  await writeStatus('before')
  await isPulled('before')
  return { leader, standby, gate, writeStatus, isPulled }
}

test('another replica pulls within 15 s after the leader was suspended', async () => {
  const { leader, standby, writeStatus, isPulled } = await twoReplicas()
  leader.signal('SIGSTOP')
  undo.push(async () => leader.signal('SIGCONT'))
  await writeStatus('during')
  await isPulled('during', { timeoutMs: takeoverMs })
  expect(leads(standby)).toBe(true)
  leader.signal('SIGCONT')
  await eventually('the suspended one notices', async () =>
    logLines(leader.logFile).some(({ msg }) => msg === 'pull: this replica is no longer the leader'),
  )
  await writeStatus('after')
  await isPulled('after')
})

test('another replica pulls within 15 s after the leader lost Postgres without an error, and the first can lead again', async () => {
  const { leader, standby, gate, writeStatus, isPulled } = await twoReplicas()
  const endSilence = gate.fallSilent()
  await writeStatus('during')
  await isPulled('during', { timeoutMs: takeoverMs })
  expect(leads(standby)).toBe(true)
  endSilence()
  await standby.stop()
  await writeStatus('after')
  await isPulled('after')
  expect(leads(leader)).toBe(true)
})

test('a leader that does not know of its successor writes nothing', async () => {
  const databaseUrl = await aDatabase()
  await migrateDatabase({ url: databaseUrl })
  const { db, close } = openDatabase({ url: databaseUrl, poolSize: 4 })
  const stop = new AbortController()
  const log = createLog({ name: 'test', level: 'silent' })
  const options = { db, databaseUrl, cluster: 'default', clock: systemClock, log, signal: stop.signal }
  const terms: Leadership[] = []
  const running = [0, 1].map(() =>
    whileLeader(options, async (leadership) => {
      terms.push(leadership)
      await new Promise((resolve) => leadership.signal.addEventListener('abort', resolve))
    }),
  )
  await eventually('one leads', async () => terms.length === 1)
  const [first] = terms
  await first?.transaction((tx) => tx.execute(sql`create table written (n int)`))
  // An open transaction of the first delays its successor, and ends with it.
  const late = first?.transaction(async (tx) => {
    await tx.execute(sql`insert into written values (1)`)
    await db.execute(sql`
      select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted
        and database = (select oid from pg_database where datname = current_database())`)
    await eventually('the other leads', async () => terms.length > 1, { timeoutMs: 12_000 })
    await tx.execute(sql`insert into written values (2)`)
  })
  await expect(late).rejects.toThrow()
  await expect(first?.transaction((tx) => tx.execute(sql`insert into written values (3)`))).rejects.toThrow(
    'no longer the leader',
  )
  await terms[1]?.transaction((tx) => tx.execute(sql`insert into written values (4)`))
  expect((await db.execute(sql`select n from written`)).rows).toEqual([{ n: 4 }])
  stop.abort()
  await Promise.all(running)
  await close()
})

/** Runs elections for clusters in a new database, and records the clusters of the terms that began. */
const elections = async (names: readonly string[]) => {
  const databaseUrl = await aDatabase()
  await migrateDatabase({ url: databaseUrl })
  const { db, close } = openDatabase({ url: databaseUrl, poolSize: 4 })
  const stop = new AbortController()
  const log = createLog({ name: 'test', level: 'silent' })
  const terms: { cluster: string; leadership: Leadership }[] = []
  const start = () => {
    const running = names.map((cluster) =>
      whileLeader({ db, databaseUrl, cluster, clock: systemClock, log, signal: stop.signal }, async (leadership) => {
        terms.push({ cluster, leadership })
        await new Promise((resolve) => leadership.signal.addEventListener('abort', resolve))
      }),
    )
    undo.push(async () => {
      stop.abort()
      await Promise.all(running)
      await close()
    })
  }
  return { db, databaseUrl, terms, start }
}

test('a leader whose term was replaced gives up, and leads again in a new term', async () => {
  const { db, terms, start } = await elections(['default'])
  start()
  await eventually('it leads', async () => terms.length === 1)
  await db.execute(sql`update clusters set pull_term = pull_term + 1`)
  await eventually('it leads again', async () => terms.length === 2)
  expect(terms[0]?.leadership.signal.aborted).toBe(true)
  await expect(terms[1]?.leadership.transaction(async () => 'written')).resolves.toBe('written')
})

test('a leader of one cluster delays no other cluster', async () => {
  const { databaseUrl, terms, start } = await elections(['default', 'other'])
  const another = await openSession({ connectionString: databaseUrl }, () => undefined)
  await another.client.query(`select pg_advisory_lock(7211404, hashtext('default'))`)
  start()
  await eventually('the other cluster has a leader', async () => terms.length === 1)
  expect(terms[0]?.cluster).toBe('other')
  await another.close()
  await eventually('the cluster "default" has a leader', async () => terms.length === 2)
})
