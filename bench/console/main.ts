import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRealtime } from '#client/realtime.ts'
import { createDatabase, forgetPostgres, startPostgres } from '#dev/postgres.ts'
import type { Service } from '#dev/process.ts'
import { startOrExit } from '#shared/process.ts'
import { startApi } from '../api.ts'
import { quantile } from '../report.ts'
import { unlessStopped } from '../signal.ts'
import { createFleet, type Fleet } from './fleet.ts'
import { type ConsolePage, launchBrowser, openPage, type Painted, recordNames, timeFilter } from './page.ts'

// `npm run bench:console` measures the console in Chromium, beside a Node reader of the same feed and an empty page of the same
// browser. The API is the bundle that ships. ORRERY_BENCH_WORLDS=1000 has fewer worlds, ORRERY_BENCH_PAGES=2000 more page changes.
const worldCount = Math.min(Number(process.env.ORRERY_BENCH_WORLDS ?? 10_000), 50_000)
const pageChanges = Math.min(Number(process.env.ORRERY_BENCH_PAGES ?? 200), 10_000)
const changesPerSecond = 100
const seconds = 10
const waitMs = 60_000

const row = (what: string, cells: readonly string[], goal: string, isMet: boolean): void => {
  const numbers = cells.map((cell) => cell.padStart(12)).join('')
  process.stdout.write(`${what.padEnd(52)}${numbers.padEnd(36)}   ${goal.padEnd(20)}${isMet ? 'met' : 'MISSED'}\n`)
}
const shownMs = (ms: number): string => `${ms.toFixed(0)} ms`
const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`
const percent = (part: number): string => `${(part * 100).toFixed(1)} %`

/** Returns the milliseconds that a reader in Node needs for all worlds. */
const timeBareReader = async (url: string, { apiKey, organizationId }: Fleet): Promise<number> => {
  const startMs = performance.now()
  const realtime = createRealtime({ baseUrl: url, apiKey, organizationId })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  realtime.subscribe('worlds', organizationId, { onUpdate: () => resolve(), onError: reject })
  await promise.finally(() => realtime.close())
  return performance.now() - startMs
}

/** Signs in. Returns the milliseconds until the first row and until the count of all worlds is shown. */
const signIn = async ({ page }: ConsolePage, url: string, apiKey: string): Promise<{ first: number; all: number }> => {
  await page.goto(`${url}/console/?sort=-age`)
  await page.getByLabel('API key').fill(apiKey)
  const startMs = performance.now()
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('rowgroup').getByRole('row').first().waitFor({ timeout: waitMs })
  const first = performance.now() - startMs
  const shown = new Intl.NumberFormat('en').format(worldCount)
  await page.getByText(`${shown} of ${shown}`).waitFor({ timeout: waitMs })
  return { first, all: performance.now() - startMs }
}

/** Commits changes from `first` on at a fixed rate. Returns the time of each commit in milliseconds since 1970. */
const rename = async (fleet: Fleet, first = 0): Promise<number[]> => {
  const committedMs: number[] = []
  const startMs = performance.now()
  for (let n = 0; n < changesPerSecond * seconds; n += 1) {
    await sleep(Math.max(0, startMs + (n * 1_000) / changesPerSecond - performance.now()))
    void fleet.rename(first + n).then(() => {
      committedMs[n] = performance.timeOrigin + performance.now()
    })
  }
  await sleep(2_000)
  return committedMs
}

/** Returns the milliseconds from each commit to the frame with it or with a later name. */
const timeRenames = async (fleet: Fleet, { page }: ConsolePage): Promise<number[]> => {
  const read = await recordNames(page)
  const committedMs = await rename(fleet)
  return toDelays(committedMs, await read(), fleet.oldest.length)
}

const toDelays = (committedMs: readonly number[], painted: readonly Painted[], renamed: number): number[] =>
  committedMs.map((atMs, n) => {
    const later = painted.filter((each) => each.n >= n && each.n % renamed === n % renamed).map((each) => each.atMs)
    return later.length === 0 ? Number.POSITIVE_INFINITY : Math.max(0, Math.min(...later) - atMs)
  })

/** Changes a number of times between the fleet and the page of a world. */
const changePages = async ({ page }: ConsolePage, changes: number): Promise<void> => {
  for (let at = 0; at < changes / 2; at += 1) {
    await page.getByRole('rowgroup').getByRole('link').first().click()
    await page.getByRole('tablist').waitFor({ timeout: waitMs })
    await page.goBack()
    await page.getByRole('rowgroup').getByRole('row').first().waitFor({ timeout: waitMs })
  }
}

const measure = async (url: string, fleet: Fleet): Promise<void> => {
  const browser = await launchBrowser()
  try {
    const empty = await openPage(browser.tabs)
    const console = await openPage(browser.tabs)
    const bareMs = await timeBareReader(url, fleet)
    const { first, all } = await signIn(console, url, fleet.apiKey)
    row(`${worldCount} worlds: sign-in to the first row`, [shownMs(first)], '<= 1,000 ms', first <= 1_000)
    const ratio = all / bareMs
    const reader = [shownMs(all), shownMs(bareMs), ratio.toFixed(2)]
    row('… to all rows, a Node reader, ratio', reader, '<= 1.5', ratio <= 1.5)

    const texts = [
      'w',
      'wo',
      'world',
      'world 77',
      'phase:Error',
      'phase:Error label:team=events',
      '-phase:Error 12',
      '',
    ]
    const times = await timeFilter(console.page, [...texts, ...texts, ...texts])
    const p95 = quantile(times, 0.95)
    row('filter to painted: p50, p95', [quantile(times, 0.5), p95].map(shownMs), 'p95 <= 50 ms', p95 <= 50)

    let delays: number[] = []
    const work = await console.workDuring(async () => {
      delays = await timeRenames(fleet, console)
    })
    await empty.page.bringToFront()
    const emptyWork = await empty.workDuring(() => sleep(2_000))
    const hiddenWork = await console.workDuring(() => rename(fleet, changesPerSecond * seconds))
    await console.page.bringToFront()
    const [p50, p99] = [quantile(delays, 0.5), quantile(delays, 0.99)]
    const what = `commit to painted, ${changesPerSecond} changes/s: p50, p99`
    row(what, [p50, p99].map(shownMs), 'p99 <= 250 ms', p99 <= 250)
    row('… main thread, an empty page', [work, emptyWork].map(percent), '<= 15 %', work <= 0.15)
    row('… main thread of a hidden tab', [percent(hiddenWork)], '<= 1 %', hiddenWork <= 0.01)

    // The first pages load what the later ones have.
    await changePages(console, 20)
    const before = await console.heapBytes()
    await changePages(console, pageChanges)
    const after = await console.heapBytes()
    const heaps = [before, after, await empty.heapBytes()].map(mebibytes)
    const isSmall = after <= 80e6 && after <= before * 1.05
    row(`heap: at first, after ${pageChanges} page changes, empty page`, heaps, '<= 80 MB, no growth', isSmall)
  } finally {
    await browser.close()
  }
}

await startOrExit(async () => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-bench-'))
  const progress = (line: string): void => void process.stderr.write(`[bench] ${line}\n`)
  const database = await startPostgres({ dir: join(dir, 'postgres'), logDir: dir, durable: true, progress })
  let api: Service | undefined
  try {
    await createDatabase(database.adminUrl, 'bench')
    process.stdout.write(`${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)}, Node ${process.version}\n`)
    const databaseUrl = database.url('bench')
    const target = await startApi(dir, databaseUrl)
    api = target.service
    const fleet = await createFleet({ url: target.url, databaseUrl }, worldCount)
    await unlessStopped(measure(target.url, fleet)).finally(() => fleet.close())
  } finally {
    await api?.stop()
    await database.stop()
    forgetPostgres(join(dir, 'postgres'))
    rmSync(dir, { recursive: true, force: true })
  }
})
