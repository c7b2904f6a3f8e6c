import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createClient } from '#client/client.ts'
import { freePort } from '#dev/ports.ts'
import { createDatabase, forgetPostgres, startPostgres } from '#dev/postgres.ts'
import { type Service, startService } from '#dev/process.ts'
import { startOrExit } from '#shared/process.ts'
import { quantile } from '../report.ts'
import { type Ask, type Load, load } from './load.ts'

// `npm run bench:rest`: what a request costs beyond the query that it makes. The API and the bare routes take turns in
// one run, each a process of its own beside this one; the API is the bundle that ships. No cluster is at hand, so that
// only REST is measured.
const rootApiKey = 'bench-platform-key-of-the-run'
const worldsPerList = 1_000
const connections = 64
const rounds = 3
const reads = Number(process.env.ORRERY_BENCH_READS ?? 25_000)
const creates = Number(process.env.ORRERY_BENCH_CREATES ?? 500)
const lists = 20

type Target = { service: Service; url: string; metricsUrl?: string }
type Scope = { organizationId: string; projectId: string; worldIds: string[]; apiKey: string }

async function startApi(dir: string, databaseUrl: string): Promise<Target> {
  const [port, metricsPort, nowhere] = [await freePort(), await freePort(), await freePort()]
  const url = `http://127.0.0.1:${port}`
  const kubeconfig = join(dir, 'kubeconfig')
  writeFileSync(kubeconfig, nobody(nowhere))
  const service = await startService({
    name: 'api',
    command: process.execPath,
    args: ['--max-semi-space-size=4', 'dist/api.mjs'],
    logFile: join(dir, 'api.log'),
    ready: async (signal) => (await fetch(`${url}/readyz`, { signal })).ok,
    readyTimeoutMs: 30_000,
    env: {
      KUBECONFIG: kubeconfig,
      ORRERY_PORT: String(port),
      ORRERY_METRICS_PORT: String(metricsPort),
      ORRERY_DATABASE_URL: databaseUrl,
      ORRERY_ROOT_API_KEY: rootApiKey,
      ORRERY_PUBLIC_URL: url,
      ORRERY_KEY_PEPPER: 'bench-pepper-of-at-least-32-bytes-',
      ORRERY_KEY_ENCRYPTION_KEYS: `bench:${Buffer.alloc(32, 7).toString('base64')}`,
      ORRERY_OBJECT_STORE_URL: pathToFileURL(join(dir, 'objects')).href,
      // Nobody answers the pushes, so that each is soon tried seldom and takes no part in what is measured.
      ORRERY_PUSH_BACKOFF_MAX_MS: '3600000',
      ORRERY_LIMIT_MAX_WORLDS: '1000000',
      ORRERY_LIMIT_REQUESTS_PER_SECOND: '1000000',
      ORRERY_LIMIT_REQUEST_BURST: '1000000',
    },
  })
  return { service, url, metricsUrl: `http://127.0.0.1:${metricsPort}/metrics` }
}

/** A kubeconfig of a cluster that is away. */
function nobody(port: number): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'away',
    contexts: [{ name: 'away', context: { cluster: 'away', user: 'away' } }],
    clusters: [{ name: 'away', cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: 'away', user: {} }],
  })
}

async function startBare(dir: string, databaseUrl: string, scope: Scope): Promise<Target> {
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

/** A tenant with a key of its own and a full page of worlds. */
async function fill(baseUrl: string): Promise<Scope> {
  const platform = createClient({ baseUrl, apiKey: rootApiKey })
  const { organizationId } = await platform.createOrganization({ body: { name: 'Bench' } })
  const { projectId } = await platform.in({ organizationId }).createProject({ body: { name: 'Bench' } })
  const scoped = platform.in({ organizationId, projectId })
  const permissions = [`organizations/${organizationId}/**:w`]
  const { apiKey } = await scoped.createApiKey({ body: { displayName: 'Bench', permissions } })
  const worldIds: string[] = []
  for (let at = 0; at < worldsPerList; at += 1) {
    worldIds.push((await scoped.createWorld({ body: aWorld })).worldId)
  }
  return { organizationId, projectId, worldIds, apiKey }
}

const aWorld = { name: 'Lobby', transient: false, runtime: { mapName: 'hall' } }
const anId = (ids: readonly string[], at: number): string => ids[at % ids.length] ?? ''

async function compare(api: Target, bare: Target, { worldIds, ...scope }: Scope): Promise<void> {
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
  ]
  process.stdout.write(
    `${cpus().length} cores, Node ${process.version}, ${connections} connections, ${rounds} rounds\n`,
  )
  process.stdout.write(
    `${'requests a second'.padEnd(26)}    bare     api   ratio   bare p50/p99 ms    api p50/p99 ms\n`,
  )
  for (const each of cases) {
    const seen: { bare: Load[]; api: Load[] } = { bare: [], api: [] }
    // One round more than is counted: everything is slow the first time.
    for (let round = 0; round <= rounds; round += 1) {
      const { requests } = each
      const ofBare = await load({
        baseUrl: bare.url,
        headers: {},
        connections: each.connections,
        requests,
        ask: each.bare,
      })
      const ofApi = await load({ baseUrl: api.url, headers, connections: each.connections, requests, ask: each.api })
      if (ofApi.refused + ofBare.refused > 0) throw new Error(`${each.what}: ${ofApi.refused} answers were not 200`)
      if (round > 0) {
        seen.bare.push(ofBare)
        seen.api.push(ofApi)
      }
    }
    report(each.what, seen)
    process.stdout.write(`  the api by then: ${await usage(api.metricsUrl ?? '')}\n`)
  }
}

function report(what: string, seen: { bare: Load[]; api: Load[] }): void {
  const rate = (loads: Load[]): number =>
    quantile(
      loads.map(({ requestsPerSecond }) => requestsPerSecond),
      0.5,
    )
  const times = (loads: Load[]): string => {
    const all = loads.flatMap(({ timesMs }) => timesMs)
    return `${quantile(all, 0.5).toFixed(1)} / ${quantile(all, 0.99).toFixed(1)}`.padStart(18)
  }
  const [bare, api] = [rate(seen.bare), rate(seen.api)]
  const numbers = `${bare.toFixed(0).padStart(8)}${api.toFixed(0).padStart(8)}${(api / bare).toFixed(2).padStart(8)}`
  process.stdout.write(`${what.padEnd(26)}${numbers}${times(seen.bare)}${times(seen.api)}\n`)
}

async function usage(metricsUrl: string): Promise<string> {
  const text = await (await fetch(metricsUrl)).text()
  const value = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0)
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
    const bare = await startBare(dir, database.url('bench'), scope)
    running.push(bare.service)
    await compare(api, bare, scope)
  } finally {
    for (const service of running) await service.stop()
    await database.stop()
    forgetPostgres(join(dir, 'postgres'))
    rmSync(dir, { recursive: true, force: true })
  }
})
