import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeFlags } from '#dev/nodeFlags.ts'
import { freePort } from '#dev/ports.ts'
import { createDatabase, forgetPostgres, startPostgres } from '#dev/postgres.ts'
import { type Service, startService } from '#dev/process.ts'
import { startOrExit } from '#shared/process.ts'
import { readMetrics, startApi, type Target } from '../api.ts'
import { describeCpu, readProcessCpu } from '../processCpu.ts'
import { quantile } from '../report.ts'
import { unlessStopped } from '../signal.ts'
import { fill, openVerbs, openWriters, type Place } from './documents.ts'
import { bareFanOut, bareFeed, fanOut, feed, idle, latency, reconnect, writeCost } from './loads.ts'

// `npm run bench:realtime` measures realtime beside a minimal baseline. The API is the bundle that ships. It and the
// baseline are processes of their own, and this process holds all clients. ORRERY_BENCH_ONLY=latency runs one part.
// ORRERY_BENCH_SOCKETS=1000 opens 1,000 sockets instead of 10,000.
const rounds = 3
const only = process.env.ORRERY_BENCH_ONLY
const crowd = Math.min(Number(process.env.ORRERY_BENCH_SOCKETS ?? 10_000), 20_000)

async function startBare(dir: string): Promise<{ service: Service; url: string }> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const service = await startService({
    name: 'bare',
    command: process.execPath,
    args: [...nodeFlags, 'bench/realtime/bare.ts'],
    logFile: join(dir, 'bare.log'),
    ready: async (signal) => (await fetch(`${url}/?from=0&count=0`, { signal })).ok,
    readyTimeoutMs: 30_000,
    env: { BENCH_PORT: String(port) },
  })
  return { service, url }
}

const row = (what: string, cells: readonly string[], goal: string, isMet: boolean): void => {
  const numbers = cells.map((cell) => cell.padStart(12)).join('')
  process.stdout.write(`${what.padEnd(46)}${numbers.padEnd(36)}   ${goal.padEnd(14)}${isMet ? 'met' : 'MISSED'}\n`)
}
const median = (values: readonly number[]): number => quantile(values, 0.5)

const short = (figure: number): string => figure.toFixed(figure < 10 ? 2 : 0)

/** Returns the medians of both rates, and of the ratios of the pairs. */
const ratioOfWrites = async (...load: Parameters<typeof writeCost>): Promise<[number, number, number]> => {
  const pairs = await writeCost(...load)
  return [
    median(pairs.map((pair) => pair.without)),
    median(pairs.map((pair) => pair.with)),
    median(pairs.map((pair) => pair.with / pair.without)),
  ]
}

/** Runs a load of changes, and describes the CPU time of each. */
const withCpu = async <T>(changes: number, run: () => Promise<T>): Promise<{ seen: T; cpu: string }> => {
  const before = readProcessCpu()
  const seen = await run()
  return { seen, cpu: describeCpu(before, readProcessCpu(), changes) }
}

const parts: Record<string, (api: Target, bareUrl: string, place: Place) => Promise<void>> = {
  fanOut: async (api, bareUrl, place) => {
    const load = { sockets: 2_000, seconds: 4 }
    const seen = { bare: [] as number[], api: [] as number[] }
    for (let round = 0; round < rounds; round += 1) {
      seen.bare.push(await bareFanOut(bareUrl, load))
      seen.api.push(await fanOut(api, place, load))
    }
    const [bare, ours] = [median(seen.bare), median(seen.api)]
    const cells = [bare.toFixed(0), ours.toFixed(0), `${(ours / bare).toFixed(1)} times`]
    row('1 document to 2,000 sockets: deliveries a second', cells, '>= 5 times', ours / bare >= 5)
  },
  latency: async (api, _, place) => {
    const seen = await latency(api, place, { sockets: 1_000, changesPerSecond: 1_000, seconds: 10 })
    const [p50, p99] = [quantile(seen.timesMs, 0.5), quantile(seen.timesMs, 0.99)]
    const what = `commit to socket, ${seen.changesPerSecond.toFixed(0)} changes/s: p50, p99, max ms`
    const cells = [p50, p99, quantile(seen.timesMs, 1)].map((ms) => ms.toFixed(1))
    row(what, cells, 'p99 <= 50', p99 <= 50 && seen.unheard === 0)
    if (seen.unheard > 0) process.stdout.write(`  ${seen.unheard} changes were not heard\n`)
  },
  feed: async (api, bareUrl, place) => {
    const load = { sockets: 1_000, changesPerSecond: 100, seconds: 10 }
    const changes = load.changesPerSecond * (load.seconds + 1)
    const bare = await withCpu(changes, () => bareFeed(bareUrl, load))
    const ours = await withCpu(changes, () => feed(api, place, load))
    const { timesMs, unheard } = ours.seen
    const cellsOf = (times: readonly number[]): string[] => [0.5, 0.99, 1].map((at) => quantile(times, at).toFixed(1))
    const p99 = quantile(timesMs, 0.99)
    row(
      'feed, 100 changes/s to 1,000 sockets: p50, p99, max',
      cellsOf(timesMs),
      'p99 <= 50',
      p99 <= 50 && unheard === 0,
    )
    process.stdout.write(`  ${ours.cpu}\n  the baseline: ${cellsOf(bare.seen.timesMs).join(', ')}; ${bare.cpu}\n`)
    if (unheard !== 0) process.stdout.write(`  ${unheard} deliveries fewer than expected\n`)
  },
  writes: async (_, __, place) => {
    const [without, recorded, ratio] = await ratioOfWrites(openVerbs(place, 8), { writes: 400, pairs: 40 })
    const cells = [without, recorded, ratio].map(short)
    row('documents written a second: without, with record', cells, '>= 0.8', ratio >= 0.8)
    // This write is smaller than any write of the API, so it shows the cost of the record itself.
    const least = await ratioOfWrites(await openWriters(place, 8), { writes: 1_500, pairs: 40 })
    process.stdout.write(`  of writes of one statement: ${least.map(short).join(', ')}\n`)
  },
  idle: async (api, _, place) => {
    const { open, following } = await idle(api, place, { sockets: crowd })
    const cells = [open, following].map((bytes) => `${(bytes / 1024).toFixed(1)} KiB`)
    row(`${crowd} sockets: RSS each, open and following`, cells, '<= 12 KB', open <= 12_000)
  },
  reconnect: async (api, _, place) => {
    const { p50, all } = await reconnect(api, place, { sockets: crowd })
    const cells = [p50, all].map((seconds) => `${seconds.toFixed(1)} s`)
    row(`${crowd} sockets back at once: half, all served`, cells, '<= 10 s', all <= 10)
  },
}

await startOrExit(async () => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-bench-'))
  const progress = (line: string): void => void process.stderr.write(`[bench] ${line}\n`)
  const database = await startPostgres({ dir: join(dir, 'postgres'), logDir: dir, durable: true, progress })
  const running: Service[] = []
  // An early end, also by Ctrl-C, leaves no process behind.
  try {
    await createDatabase(database.adminUrl, 'bench')
    process.stdout.write(`${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)}, Node ${process.version}\n`)
    for (const [name, run] of Object.entries(parts)) {
      if (only !== undefined && only !== name) continue
      // Each part has its own server, so that it does not start with the memory use of an earlier part.
      const api = await startApi(dir, database.url('bench'))
      running.push(api.service)
      const bare = await startBare(dir)
      running.push(bare.service)
      const place = await fill(api.url, database.url('bench'))
      await unlessStopped(run(api, bare.url, place))
      const seconds = (await readMetrics(api.metricsUrl))('process_cpu_seconds_total')
      process.stdout.write(`  the api by then: ${seconds.toFixed(1)} CPU s\n`)
      for (const service of running.splice(0)) await service.stop()
    }
  } finally {
    for (const service of running) await service.stop()
    await database.stop()
    forgetPostgres(join(dir, 'postgres'))
    rmSync(dir, { recursive: true, force: true })
  }
})
