import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDatabase, forgetPostgres, startPostgres } from '#dev/postgres.ts'
import { startOrExit } from '#shared/process.ts'
import { startApi } from '../api.ts'
import { openCluster } from '../operator/cluster.ts'
import { quantile } from '../report.ts'
import { unlessStopped } from '../signal.ts'
import { drain } from './drain.ts'
import { openLatency } from './latency.ts'
import { fillWorlds } from './worlds.ts'

// `npm run bench:sync`: the API between Postgres and a real API server, without an operator. ORRERY_BENCH_WORLDS=1000 sets the
// number of worlds, ORRERY_BENCH_DIRTY_ROWS=10000 the number of rows that are pushed at once.
const count = (variable: string, usual: number): number => Number(process.env[variable] ?? usual)
const worldCount = count('ORRERY_BENCH_WORLDS', 1_000)
const dirtyRows = count('ORRERY_BENCH_DIRTY_ROWS', 10_000)
const rounds = 3
const goalMs = 200

const row = (what: string, cells: readonly string[], goal: string, isMet: boolean): void => {
  const figures = cells.map((cell) => cell.padStart(11)).join('')
  process.stdout.write(`${what.padEnd(44)}${figures.padEnd(36)}   ${goal.padEnd(14)}${isMet ? 'met' : 'MISSED'}\n`)
}

const latencyRow = (what: string, timesMs: readonly number[]): void => {
  const cells = [0.5, 0.99, 1].map((part) => quantile(timesMs, part).toFixed(1))
  row(`${what}: p50, p99, max ms`, cells, `p99 <= ${goalMs}`, quantile(timesMs, 0.99) <= goalMs)
}

await startOrExit(async () => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-bench-'))
  const progress = (line: string): void => void process.stderr.write(`[bench] ${line}\n`)
  const parts: { stop(): Promise<void> }[] = []
  const measure = async (): Promise<void> => {
    const cluster = await openCluster(progress)
    parts.push(cluster)
    const postgres = await startPostgres({ dir: join(dir, 'postgres'), logDir: dir, durable: true, progress })
    parts.push(postgres)
    await createDatabase(postgres.adminUrl, 'bench')
    const databaseUrl = postgres.url('bench')
    const api = await startApi(dir, databaseUrl, cluster.apiKubeconfig)
    parts.push(api.service)
    process.stdout.write(`${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)}, Node ${process.version}\n`)

    const place = await fillWorlds({ api, databaseUrl, transport: cluster.transport }, worldCount)
    const latency = await openLatency({ api, place, cluster })
    latencyRow('commit to resource', await latency.ofCommits())
    latencyRow('status to a subscriber of the feed', await latency.ofStatuses())
    await latency.close()
    const ratios: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      const result = await drain({ api, place, cluster, databaseUrl }, Math.ceil(dirtyRows / rounds))
      ratios.push(result.rowsPerSecond / result.barePerSecond)
      const cells = [result.barePerSecond, result.rowsPerSecond].map((rate) => rate.toFixed(0))
      const ratio = result.rowsPerSecond / result.barePerSecond
      row('new rows pushed a second: bare, API, ratio', [...cells, ratio.toFixed(2)], '>= 0.7', ratio >= 0.7)
      process.stdout.write(
        `  bare applies with the quotas of the namespace: ${result.quotaPerSecond.toFixed(0)} a second, ratio ${(result.rowsPerSecond / result.quotaPerSecond).toFixed(2)}\n`,
      )
      process.stdout.write(
        `  the API used ${result.cpuMs.toFixed(1)} ms of CPU and ${result.commits.toFixed(1)} transactions a row\n`,
      )
    }
    const median = quantile(ratios, 0.5)
    row(`median of ${rounds} rounds`, [median.toFixed(2)], '>= 0.7', median >= 0.7)
  }
  try {
    await unlessStopped(measure())
  } finally {
    for (const part of parts.reverse()) await part.stop()
    forgetPostgres(join(dir, 'postgres'))
    rmSync(dir, { recursive: true, force: true })
  }
})
