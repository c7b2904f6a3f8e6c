import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDatabase, forgetPostgres, startPostgres } from '#dev/postgres.ts'
import { startOrExit } from '#shared/process.ts'
import { startApi } from '../api.ts'
import { openCluster } from '../operator/cluster.ts'
import { settled } from '../operator/idle.ts'
import { unlessStopped } from '../signal.ts'
import { fillOrganizations, untilClean } from './fill.ts'
import { type Parts, readCounts, readSizes, type Sizes } from './sizes.ts'
import { measureIdle, measureLists, measureOperatorRestart, measurePull } from './verbs.ts'

// `npm run bench:scale`: many stopped worlds of many organizations on one control plane, with API, database and operator.
// ORRERY_BENCH_WORLDS=20000 sets the number of worlds, ORRERY_BENCH_ORGANIZATIONS=100 that of organizations.
const count = (variable: string, usual: number): number => Number(process.env[variable] ?? usual)
const worlds = count('ORRERY_BENCH_WORLDS', 5_000)
const organizations = count('ORRERY_BENCH_ORGANIZATIONS', 100)
const idleSeconds = count('ORRERY_BENCH_IDLE_SECONDS', 60)
const settleMs = 600_000

const say = (what: string, figure: string): void => void process.stdout.write(`  ${what.padEnd(44)} ${figure}\n`)
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`

/** Prints a size before and after, and its growth per world. */
const sayGrowth = (before: Sizes, after: Sizes): void => {
  for (const [name, bytes] of Object.entries(after)) {
    const grown = bytes - (before[name] ?? 0)
    const total = `${(bytes / 2 ** 20).toFixed(0)} MiB`
    say(name, `${total}, ${(grown / 1_024 / worlds).toFixed(1)} KiB per world`)
  }
}

await startOrExit(async () => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-bench-'))
  const progress = (line: string): void => void process.stderr.write(`[bench] ${line}\n`)
  const started: { stop(): Promise<void> }[] = []
  const measure = async (): Promise<void> => {
    const cluster = await openCluster(progress, 'raised')
    started.push(cluster)
    const postgres = await startPostgres({ dir: join(dir, 'postgres'), logDir: dir, durable: true, progress })
    started.push(postgres)
    await createDatabase(postgres.adminUrl, 'bench')
    const databaseUrl = postgres.url('bench')
    let api = await startApi(dir, databaseUrl, cluster.apiKubeconfig)
    started.push({ stop: () => api.service.stop() })
    let operator = await cluster.startOperator('scale')
    const parts = (): Parts => ({ api, operator, cluster, databaseUrl })
    process.stdout.write(
      `${worlds} stopped worlds of ${organizations} organizations; ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)}, Node ${process.version}\n`,
    )

    const place = await fillOrganizations(parts(), organizations)
    await untilClean(parts(), settleMs)
    const before = await readSizes(parts())
    const countsBefore = await readCounts(parts())
    const startedMs = performance.now()
    await place.insert(Math.ceil((worlds - organizations) / organizations))
    await untilClean(parts(), settleMs)
    say('rows inserted → no row left to push', seconds(performance.now() - startedMs))
    await settled(operator)
    say('rows inserted → the operator is at rest', seconds(performance.now() - startedMs))
    const counts = await readCounts(parts())
    const perWorld = (key: keyof typeof counts): string => ((counts[key] - countsBefore[key]) / worlds).toFixed(1)
    say('writes to the API server per world', perWorld('writes'))
    say('transactions of Postgres per world', perWorld('commits'))
    const idle = await measureIdle(parts(), idleSeconds)
    say('idle: CPU of API, operator, API server', idle)
    sayGrowth(before, await readSizes(parts()))
    for (const [what, ms] of await measureLists(parts())) say(what, seconds(ms))

    await api.service.stop()
    const edit = await place.editWithKubectl()
    const restartedMs = performance.now()
    api = await startApi(dir, databaseUrl, cluster.apiKubeconfig)
    say('restart of the API → ready', seconds(performance.now() - restartedMs))
    await measurePull(parts(), edit)
    say('restart of the API → edit of kubectl in REST', seconds(performance.now() - restartedMs))
    const restart = await measureOperatorRestart(parts())
    operator = restart.operator
    say('restart of the operator → ready, → all reconciled', restart.times.map(seconds).join(', '))
    for (const [name, bytes] of Object.entries(await readSizes(parts())))
      say(`${name}, after the restarts`, `${(bytes / 2 ** 20).toFixed(0)} MiB`)
  }
  try {
    await unlessStopped(measure())
  } finally {
    for (const part of started.reverse()) await part.stop()
    forgetPostgres(join(dir, 'postgres'))
    rmSync(dir, { recursive: true, force: true })
  }
})
