import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { freePort } from '#dev/ports.ts'
import { createDatabase } from '#dev/postgres.ts'
import { type Service, startService } from '#dev/process.ts'
import { getServers } from './servers.ts'

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

/** Starts an API, on a free port unless one is given, and waits until it is ready. */
export const startApi = async (env: {
  databaseUrl: string
  namespacePrefix?: string
  kubeconfig?: string
  port?: number
  /** Settings beyond those of every test. */
  settings?: Record<string, string>
}) => {
  const port = env.port ?? (await freePort())
  const metricsPort = await freePort()
  const url = `http://127.0.0.1:${port}`
  const logFile = join(getServers().logDir, `api-${port}.log`)
  const service = await startNode('api', logFile, url, {
    ORRERY_PORT: String(port),
    ORRERY_METRICS_PORT: String(metricsPort),
    ORRERY_DATABASE_URL: env.databaseUrl,
    ORRERY_ROOT_API_KEY: rootApiKey,
    ORRERY_PUBLIC_URL: url,
    ORRERY_NAMESPACE_PREFIX: env.namespacePrefix ?? 'orrery',
    ORRERY_PUSH_BACKOFF_MAX_MS: '500',
    ...apiSecrets(),
    KUBECONFIG: env.kubeconfig ?? getServers().apiKubeconfig,
    ...env.settings,
  })
  return { ...service, url, metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`, logFile }
}

/** Starts an operator and waits until its caches are synced. */
export const startOperator = async (
  env: Record<string, string> = {},
): Promise<Service & { logFile: string; url: string }> => {
  const port = await freePort()
  const logFile = join(getServers().logDir, `operator-${port}.log`)
  const service = await startNode('operator', logFile, `http://127.0.0.1:${port}`, {
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
  })
  return { ...service, logFile, url: `http://127.0.0.1:${port}` }
}

/** Returns the parsed lines of a process's log. */
export const logLines = (logFile: string): Record<string, unknown>[] =>
  readFileSync(logFile, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)

/** The bundled program is for runs that start processes so often that loading TypeScript counts. */
const programOf = (name: 'api' | 'operator'): string =>
  process.env.ORRERY_TEST_BUNDLED === undefined ? `${name}/main.ts` : `dist/${name}.mjs`

const startNode = (
  name: 'api' | 'operator',
  logFile: string,
  url: string,
  env: Record<string, string>,
): Promise<Service> =>
  startService({
    name,
    command: process.execPath,
    args: [programOf(name)],
    env,
    logFile,
    ready: async (signal) => (await fetch(`${url}/readyz`, { signal })).ok,
    readyTimeoutMs: 120_000,
  })
