import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '#client/client.ts'
import { freePort } from '#dev/ports.ts'
import { createDatabase, forgetPostgres, inSession, startPostgres } from '#dev/postgres.ts'
import { type Service, startService } from '#dev/process.ts'
import { startOrExit } from '#shared/process.ts'
import { readMetrics, rootApiKey, startApi, type Target } from '../api.ts'
import { cpuSeconds } from '../cpu.ts'
import { quantile } from '../report.ts'
import { unlessStopped } from '../signal.ts'
import { type Ask, type Load, load } from './load.ts'

// `npm run bench:rest` measures what a request costs beyond its query. The API and the bare routes take turns in one
// run, each in a process of its own. The API is the bundle that ships, without a cluster, so that only REST is
// measured.
const worldsPerList = 1_000
const connections = 64
// Many short alternating rounds, so that other load on the machine affects both sides.
const rounds = 9
const reads = Number(process.env.ORRERY_BENCH_READS ?? 10_000)
const creates = Number(process.env.ORRERY_BENCH_CREATES ?? 200)
const lists = 20
/** The case to measure: the start of its name. Empty for all. */
const only = process.env.ORRERY_BENCH_ONLY ?? ''

type Scope = { organizationId: string; projectId: string; worldIds: string[]; apiKey: string }

async function startBare(dir: string, databaseUrl: string, scope: Scope): Promise<Omit<Target, 'metricsUrl'>> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const service = await startService({
    name: 'bare',
    command: process.execPath,
    args: ['bench/rest/bare.ts'],
    logFile: join(dir, 'bare.log'),
    ready: async (signal) => (await fetch(`${url}/list`, { signal })).ok,
    readyTimeoutMs: 30_000,
    env: {
      BENCH_PORT: String(port),
      BENCH_DATABASE_URL: databaseUrl,
      BENCH_ORGANIZATION: scope.organizationId,
      BENCH_PROJECT: scope.projectId,
    },
  })
  return { service, url }
}

/** Creates a tenant with its own key and a full page of worlds. */
async function fill(baseUrl: string): Promise<Scope> {
  const platform = createClient({ baseUrl, apiKey: rootApiKey })
  const { organizationId } = await platform.createOrganization({ body: { name: 'Bench' } })
  const { projectId } = await platform.in({ organizationId }).createProject({ body: { name: 'Bench' } })
  const scoped = platform.in({ organizationId, projectId })
  const permissions = [`organizations/${organizationId}/**:w`]
  const limits = { maxWorlds: 1_000_000, maxRunningCapacity: 1_000_000 }
  await platform.in({ organizationId }).patchLimits({ params: { organizationId }, body: limits })
  const { apiKey } = await scoped.createApiKey({ body: { displayName: 'Bench', permissions } })
  const worldIds: string[] = []
  for (let at = 0; at < worldsPerList; at += 1) {
    worldIds.push((await scoped.createWorld({ body: aWorld })).worldId)
  }
  // The bare routes copy the rows of a start.
  await scoped.startWorld({ params: { worldId: anId(worldIds, 0) } })
  return { organizationId, projectId, worldIds, apiKey }
}

/** Postpones the pushes of all worlds by a day. Without a cluster, each would be retried during the measurement. */
const postponePushes = (databaseUrl: string): Promise<void> =>
  inSession(databaseUrl, async (sql) => {
    // A push that is in progress leaves the time of a mark with a newer epoch.
    await sql.query(`update cluster_outbox set next_at = now() + interval '1 day', epoch = epoch + 1`)
  })

const documentBody = JSON.stringify({ data: { id: 'settings', config: { music: true } } })
const aWorld = { name: 'Lobby', transient: false, runtime: { mapName: 'hall' } }
const anId = (ids: readonly string[], at: number): string => ids[at % ids.length] ?? ''

async function compare(api: Target, bare: Omit<Target, 'metricsUrl'>, { worldIds, ...scope }: Scope): Promise<void> {
  const headers = {
    'x-api-key': scope.apiKey,
    'x-svc-organization-id': scope.organizationId,
    'x-svc-project-id': scope.projectId,
    'content-type': 'application/json',
  }
  const body = JSON.stringify(aWorld)
  const cases: {
    what: string
    requests: number
    connections: number
    api: (at: number) => Ask
    bare: (at: number) => Ask
  }[] = [
    {
      what: 'GET world',
      requests: reads,
      connections,
      api: (at) => ({ method: 'GET', path: `/api/worlds/${anId(worldIds, at)}/` }),
      bare: (at) => ({ method: 'GET', path: `/world/${anId(worldIds, at)}` }),
    },
    {
      what: `list of ${worldsPerList} worlds`,
      requests: lists,
      connections: 1,
      api: () => ({ method: 'GET', path: '/api/worlds/' }),
      bare: () => ({ method: 'GET', path: '/list' }),
    },
    {
      what: 'POST world',
      requests: creates,
      connections,
      api: () => ({ method: 'POST', path: '/api/worlds/', body }),
      bare: () => ({ method: 'POST', path: '/world', body }),
    },
    {
      what: 'start of a world',
      requests: creates,
      connections,
      api: (at) => ({ method: 'POST', path: `/api/worlds/${anId(worldIds, at)}/start/` }),
      bare: (at) => ({ method: 'POST', path: `/world/${anId(worldIds, at)}/start` }),
    },
    {
      what: 'PUT document',
      requests: creates,
      connections,
      api: (at) => ({ method: 'PUT', path: `/api/documents/liveConfig/api-${at % connections}/`, body: documentBody }),
      bare: (at) => ({ method: 'PUT', path: `/document/bare-${at % connections}`, body: documentBody }),
    },
  ]
  process.stdout.write(
    `${cpus().length} cores, Node ${process.version}, ${connections} connections, ${rounds} rounds\n`,
  )
  process.stdout.write(
    `${'requests a second'.padEnd(26)}    bare     api   ratio   bare p50/p99 ms    api p50/p99 ms\n`,
  )
  for (const each of cases.filter(({ what }) => what.startsWith(only))) {
    const seen: { bare: Measured[]; api: Measured[] } = { bare: [], api: [] }
    // The first round is not counted, because it is slow.
    for (let round = 0; round <= rounds; round += 1) {
      const { requests } = each
      const common = { connections: each.connections, requests }
      const ofBare = await withCpu(bare, () => load({ ...common, baseUrl: bare.url, headers: {}, ask: each.bare }))
      const ofApi = await withCpu(api, () => load({ ...common, baseUrl: api.url, headers, ask: each.api }))
      if (ofApi.refused + ofBare.refused > 0) throw new Error(`${each.what}: ${ofApi.refused} answers were not 200`)
      if (round > 0) {
        seen.bare.push(ofBare)
        seen.api.push(ofApi)
      }
    }
    report(each.what, seen)
    process.stdout.write(`  the api by then: ${await usage(api.metricsUrl)}\n`)
  }
}

type Measured = Load & {
  /** The CPU time of the server for a request. */
  readonly cpuMs: number
}

/** Runs a load, and adds the CPU time of the server. */
const withCpu = async ({ service }: Pick<Target, 'service'>, run: () => Promise<Load>): Promise<Measured> => {
  const before = cpuSeconds(service.pid)
  const loaded = await run()
  return { ...loaded, cpuMs: ((cpuSeconds(service.pid) - before) * 1_000) / loaded.timesMs.length }
}

function report(what: string, seen: { bare: Measured[]; api: Measured[] }): void {
  const median = (loads: Measured[], of: (load: Measured) => number): number => quantile(loads.map(of), 0.5)
  const rate = (loads: Measured[]): number => median(loads, ({ requestsPerSecond }) => requestsPerSecond)
  const cpu = (loads: Measured[]): string => median(loads, ({ cpuMs }) => cpuMs).toFixed(2)
  const times = (loads: Load[]): string => {
    const all = loads.flatMap(({ timesMs }) => timesMs)
    return `${quantile(all, 0.5).toFixed(1)} / ${quantile(all, 0.99).toFixed(1)}`.padStart(18)
  }
  const [bare, api] = [rate(seen.bare), rate(seen.api)]
  const numbers = `${bare.toFixed(0).padStart(8)}${api.toFixed(0).padStart(8)}${(api / bare).toFixed(2).padStart(8)}`
  process.stdout.write(`${what.padEnd(26)}${numbers}${times(seen.bare)}${times(seen.api)}\n`)
  process.stdout.write(`  CPU of the server for a request: bare ${cpu(seen.bare)} ms, api ${cpu(seen.api)} ms\n`)
}

async function usage(metricsUrl: string): Promise<string> {
  const text = await (await fetch(metricsUrl)).text()
  const value = await readMetrics(metricsUrl)
  const requests = [...text.matchAll(/^http_request_duration_seconds_count\{.*\} (\d+)$/gm)]
  const answered = requests.reduce((sum, [, count]) => sum + Number(count), 0)
  const rssMiB = Math.round(value('process_resident_memory_bytes') / 2 ** 20)
  return `${answered} requests answered, ${value('process_cpu_seconds_total').toFixed(1)} CPU s, RSS ${rssMiB} MiB`
}

await startOrExit(async () => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-bench-'))
  const progress = (line: string): void => void process.stderr.write(`[bench] ${line}\n`)
  const database = await startPostgres({ dir: join(dir, 'postgres'), logDir: dir, durable: true, progress })
  const running: Service[] = []
  try {
    await createDatabase(database.adminUrl, 'bench')
    const api = await startApi(dir, database.url('bench'))
    running.push(api.service)
    const scope = await fill(api.url)
    await postponePushes(database.url('bench'))
    const bare = await startBare(dir, database.url('bench'), scope)
    running.push(bare.service)
    await unlessStopped(compare(api, bare, scope))
  } finally {
    for (const service of running) await service.stop()
    await database.stop()
    forgetPostgres(join(dir, 'postgres'))
    rmSync(dir, { recursive: true, force: true })
  }
})
