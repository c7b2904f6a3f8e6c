import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '#client/client.ts'
import { createDatabase, forgetPostgres, inSession, startPostgres } from '#dev/postgres.ts'
import { sleep, systemClock } from '#shared/clock.ts'
import { startOrExit } from '#shared/process.ts'
import { rootApiKey, startApi } from '../api.ts'
import { openCluster } from '../operator/cluster.ts'
import { settled } from '../operator/idle.ts'
import { forAll } from '../operator/objects.ts'
import { fillOrganizations, untilClean } from '../scale/fill.ts'
import type { Parts } from '../scale/sizes.ts'
import { unlessStopped } from '../signal.ts'
import { measureRest } from './measure.ts'

// `npm run bench:sleep`: worlds that run, then as many of which most sleep, and at last many that sleep, on a simulated node whose
// servers answer the operator. ORRERY_BENCH_WORLDS=1000, ORRERY_BENCH_SLEEPING=5000 set the numbers.
const count = (variable: string, usual: number): number => Number(process.env[variable] ?? usual)
const worlds = count('ORRERY_BENCH_WORLDS', 1_000)
const sleeping = count('ORRERY_BENCH_SLEEPING', 5_000)
const organizations = count('ORRERY_BENCH_ORGANIZATIONS', 50)
const idleSeconds = count('ORRERY_BENCH_IDLE_SECONDS', 60)
/** The part of the worlds that stays awake. */
const awakePart = 0.05
const limitMs = 1_200_000
const pollMs = 500
const idleStopMinutes = 1

const print = (line: string): void => void process.stdout.write(`${line}\n`)
const say = (what: string, figure: string): void => print(`  ${what.padEnd(44)} ${figure}`)

type Ref = { readonly organizationId: string; readonly projectId: string; readonly id: string }

const ask = async <T>(databaseUrl: string, query: string): Promise<T[]> =>
  inSession(databaseUrl, async (sql) => (await sql.query(query)).rows as T[])

/** Waits until so many worlds are in a phase; of those that are Stopped, only worlds that sleep count. */
const untilPhase = async (databaseUrl: string, phase: 'Active' | 'Stopped', wanted: number): Promise<void> => {
  const deadlineMs = performance.now() + limitMs
  const condition = phase === 'Stopped' ? "and idle ? 'asleepSince'" : ''
  for (;;) {
    const query = `select count(*)::int as found from worlds where phase = '${phase}' ${condition}`
    const [row] = await ask<{ found: number }>(databaseUrl, query)
    if (row?.found === wanted) return
    if (performance.now() > deadlineMs) throw new Error(`${row?.found} of ${wanted} worlds were ${phase}.`)
    await sleep(systemClock, pollMs)
  }
}

/** Returns the worlds that no run was started for. */
const readNew = (databaseUrl: string): Promise<Ref[]> =>
  ask(
    databaseUrl,
    `select organization_id as "organizationId", project_id as "projectId", id from worlds where phase = 'Inactive' order by id`,
  )

await startOrExit(async () => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-bench-'))
  const progress = (line: string): void => void process.stderr.write(`[bench] ${line}\n`)
  const started: { stop(): Promise<void> }[] = []
  const measure = async (): Promise<void> => {
    const servers = fork(new URL('servers.ts', import.meta.url))
    started.push({ stop: async () => servers.disconnect() })
    await once(servers, 'message')
    const cluster = await openCluster(progress, 'raised', '127.200.0.0/16')
    started.push(cluster)
    const postgres = await startPostgres({ dir: join(dir, 'postgres'), logDir: dir, durable: true, progress })
    started.push(postgres)
    await createDatabase(postgres.adminUrl, 'bench')
    const databaseUrl = postgres.url('bench')
    let api = await startApi(dir, databaseUrl, cluster.apiKubeconfig)
    started.push({ stop: () => api.service.stop() })
    let operator = await cluster.startOperator('sleep')
    const parts = (): Parts => ({ api, operator, cluster, databaseUrl })
    const inProject = ({ organizationId, projectId }: Ref) =>
      createClient({ baseUrl: api.url, apiKey: rootApiKey }).in({ organizationId, projectId })
    const start = async (): Promise<void> => {
      const refs = await readNew(databaseUrl)
      await forAll(refs, (ref) => inProject(ref).startWorld({ params: { worldId: ref.id } }))
    }
    const setSleep = (refs: readonly Ref[]) =>
      forAll(refs, (ref) =>
        inProject(ref).patchWorld({ params: { worldId: ref.id }, body: { runtime: { idleStopMinutes } } }),
      )
    /** Restarts both processes, so that their memory is that of the present worlds, and waits until they rest. */
    const measureFresh = async (title: string): Promise<void> => {
      await Promise.all([api.service.stop(), operator.stop()])
      api = await startApi(dir, databaseUrl, cluster.apiKubeconfig)
      operator = await cluster.startOperator('sleep')
      await settled(operator)
      await untilClean(parts(), limitMs)
      print(`\n${title}`)
      await measureRest(parts(), idleSeconds, say)
    }
    print(`sleep and wake; ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)}, Node ${process.version}`)

    const place = await fillOrganizations(parts(), organizations)
    await place.insert(Math.ceil((worlds - organizations) / organizations))
    await untilClean(parts(), limitMs)
    const all = await readNew(databaseUrl)
    await start()
    await untilPhase(databaseUrl, 'Active', all.length)
    await measureFresh(`${all.length} worlds that run`)

    const awake = Math.round(all.length * awakePart)
    await setSleep(all.slice(awake))
    await untilPhase(databaseUrl, 'Stopped', all.length - awake)
    await measureFresh(`${all.length} worlds, of which ${all.length - awake} sleep`)

    await setSleep(all.slice(0, awake))
    await place.insert(Math.max(0, Math.ceil((sleeping - all.length) / organizations)))
    await untilClean(parts(), limitMs)
    const more = await readNew(databaseUrl)
    await setSleep(more)
    await start()
    await untilPhase(databaseUrl, 'Stopped', all.length + more.length)
    await measureFresh(`${all.length + more.length} worlds that sleep`)
  }
  try {
    await unlessStopped(measure())
  } finally {
    for (const part of started.reverse()) await part.stop()
    forgetPostgres(join(dir, 'postgres'))
    rmSync(dir, { recursive: true, force: true })
  }
})
