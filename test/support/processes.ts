import { execFile, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { freePort } from '#dev/ports.ts'
import { apiRoleUrl, createDatabase } from '#dev/postgres.ts'
import { type Service, startService } from '#dev/process.ts'
import { getServers } from './servers.ts'
import { patience } from './wait.ts'

/** The platform key of every API that tests start. */
export const rootApiKey = 'integration-tests-platform-key'

/** Creates a database, so that tests do not see each other's rows, and returns its URL. */
export const aDatabase = async (): Promise<string> => {
  const name = `test_${randomBytes(6).toString('hex')}`
  const adminUrl = getServers().postgresAdminUrl
  await createDatabase(adminUrl, name)
  return adminUrl.replace(/\/postgres$/, `/${name}`)
}

/** An API process, started as users start it. */
export type ApiProcess = Service & { readonly url: string; readonly metricsUrl: string; readonly logFile: string }

/** Returns the secrets and the object store of every API that tests start. */
export const apiSecrets = () => ({
  ORRERY_KEY_PEPPER: 'integration-tests-pepper-of-32-bytes',
  ORRERY_KEY_ENCRYPTION_KEYS: `first:${Buffer.alloc(32, 1).toString('base64')}`,
  ORRERY_OBJECT_STORE_URL: pathToFileURL(join(getServers().logDir, 'objects')).href,
})

/** Writes the external issuer that the examples of the API reference name, and returns the file. */
const exampleIssuersFile = (): string => {
  const file = join(getServers().logDir, 'issuers.json')
  const issuer = 'https://id.example.com'
  const entry = { issuer, audience: 'orrery', jwksUrl: `${issuer}/jwks.json`, organizations: ['*'] }
  writeFileSync(file, JSON.stringify([entry]))
  return file
}

/** Starts an API, on a free port unless one is given, and waits until it is ready. */
export const startApi = async (env: {
  databaseUrl: string
  namespacePrefix?: string
  kubeconfig?: string
  port?: number
  /** The checkout whose API runs. Default: this one. */
  checkout?: string
  /** Settings beyond those of every test. */
  settings?: Record<string, string>
}) => {
  const port = env.port ?? (await freePort())
  const metricsPort = await freePort()
  const url = `http://127.0.0.1:${port}`
  const logFile = join(getServers().logDir, `api-${port}.log`)
  const service = await startNode(
    'api',
    logFile,
    url,
    {
      ORRERY_PORT: String(port),
      ORRERY_METRICS_PORT: String(metricsPort),
      ORRERY_DATABASE_URL: apiRoleUrl(env.databaseUrl),
      ORRERY_DATABASE_OWNER_URL: env.databaseUrl,
      ORRERY_ROOT_API_KEY: rootApiKey,
      ORRERY_PUBLIC_URL: url,
      ORRERY_NAMESPACE_PREFIX: env.namespacePrefix ?? 'orrery',
      ORRERY_PUSH_BACKOFF_MAX_MS: '500',
      ORRERY_JWT_ISSUERS_FILE: exampleIssuersFile(),
      ...apiSecrets(),
      KUBECONFIG: env.kubeconfig ?? getServers().apiKubeconfig,
      ...env.settings,
    },
    env.checkout,
  )
  return { ...service, url, metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`, logFile }
}

/** Starts an operator, of this checkout unless another is given, and waits until its caches are synced. */
export const startOperator = async (
  env: Record<string, string> = {},
  checkout?: string,
): Promise<Service & { logFile: string; url: string }> => {
  const port = await freePort()
  const logFile = join(getServers().logDir, `operator-${port}.log`)
  const service = await startNode(
    'operator',
    logFile,
    `http://127.0.0.1:${port}`,
    {
      ORRERY_METRICS_PORT: String(port),
      ORRERY_DEFAULT_SERVER_IMAGE: 'registry.example/world-server:1',
      ORRERY_DEFAULT_BOT_IMAGE: 'registry.example/bot:1',
      ORRERY_PUBLIC_URL: 'http://api.example:8080',
      ORRERY_RESTART_BACKOFF_MS: '200',
      ORRERY_RESTART_BACKOFF_MAX_MS: '500',
      ORRERY_RETRY_BACKOFF_MAX_MS: '500',
      // One identity for all operators of a worker: the successor of a killed one does not wait for its lease.
      ORRERY_LEASE_IDENTITY: 'tests',
      KUBECONFIG: getServers().operatorKubeconfig,
      ...env,
    },
    checkout,
  )
  return { ...service, logFile, url: `http://127.0.0.1:${port}` }
}

/** Returns the parsed lines of a process's log. */
export const logLines = (logFile: string): Record<string, unknown>[] =>
  readFileSync(logFile, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)

/** Runs the command `orrery` to its end, with the given environment alone. */
export const runOrrery = (args: readonly string[], env: Record<string, string>) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [programOf('orrery'), ...args], {
    env: { PATH: process.env.PATH ?? '', ...env },
    encoding: 'utf8',
    timeout: 120_000 * patience,
  })
  return { status, stdout, stderr }
}

/** Runs the command `orrery` like `runOrrery`, while proxies and simulators of this process go on. Returns its output. */
export const runOrreryBeside = (args: readonly string[], env: Record<string, string>): Promise<string> =>
  new Promise((resolve) => {
    const options = { env: { PATH: process.env.PATH ?? '', ...env }, timeout: 120_000 * patience }
    execFile(process.execPath, [programOf('orrery'), ...args], options, (_, stdout, stderr) => resolve(stdout + stderr))
  })

const sources = { api: 'api/main.ts', operator: 'operator/main.ts', orrery: 'api/orrery.ts' } as const

/** Returns the file of a program: the bundle, or the source with `ORRERY_TEST_SOURCE`. */
export const programOf = (name: keyof typeof sources): string => {
  const { programDir } = getServers()
  return programDir === undefined ? sources[name] : join(programDir, `${name}.mjs`)
}

const startNode = (
  name: 'api' | 'operator',
  logFile: string,
  url: string,
  env: Record<string, string>,
  checkout?: string,
): Promise<Service> =>
  startService({
    name,
    command: process.execPath,
    args: [checkout === undefined ? programOf(name) : join(checkout, name, 'main.ts')],
    env,
    logFile,
    ready: async (signal) => (await fetch(`${url}/readyz`, { signal })).ok,
    readyTimeoutMs: 120_000 * patience,
    // Also for a process that is suspended.
    deathSignal: 'SIGKILL',
  })
