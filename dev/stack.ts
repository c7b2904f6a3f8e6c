import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { systemClock } from '#shared/clock.ts'
import { defaultHostPorts } from '#shared/domain/hostPorts.ts'
import { idOf, keepToCluster } from './cluster/id.ts'
import { startCluster } from './cluster/index.ts'
import type { ClusterNode } from './cluster/types.ts'
import { buildConsole, consoleFolder } from './console/build.ts'
import { installManifests } from './kubernetes/manifests.ts'
import type { NodeChoice } from './node/types.ts'
import { nodeFlags, operatorMalloc, operatorNodeFlags } from './nodeFlags.ts'
import { freePort } from './ports.ts'
import { apiRoleUrl, createDatabase, startPostgres } from './postgres.ts'
import { type Service, startService } from './process.ts'
import type { Progress } from './progress.ts'
import { type Supervised, supervise } from './supervise.ts'

/** The addresses, files and platform key of a running stack: the content of stack.json. */
export type StackInfo = {
  readonly apiUrl: string
  /** The URL at which servers and bots reach the API. */
  readonly publicUrl: string
  readonly realtimeUrl: string
  readonly rootApiKey: string
  readonly kubeconfig: string
  readonly kubectl: string
  readonly databaseUrl: string
  readonly objectStoreUrl: string
  readonly metricsUrls: { readonly api: string; readonly operator: string }
  readonly node: ClusterNode
}

/** A running stack. */
export type Stack = {
  readonly info: StackInfo
  /** Resolves with a sentence when a process ended that the stack cannot restart, or that it restarted too often. */
  readonly broken: Promise<string>
  stop(): Promise<void>
}

export type StackOptions = {
  stateDir: string
  apiPort: number
  node: NodeChoice
  env: NodeJS.ProcessEnv
  progress: Progress
}

const project = fileURLToPath(new URL('..', import.meta.url))
/** A laptop can run many worlds only if their pods request a small part of their limits. */
const requestRatio = '0.02'
const readyTimeoutMs = 120_000

/** Starts the whole system on this machine. If a part fails to start, the earlier parts are stopped again. */
export const startStack = async (options: StackOptions): Promise<Stack> => {
  const { stateDir, env, progress } = options
  const logDir = join(stateDir, 'logs')
  const parts: { stop(): Promise<void> }[] = []
  const stop = async (): Promise<void> => {
    for (const part of parts.splice(0).reverse()) await part.stop()
  }
  const building = buildConsoleFiles(progress)
  try {
    const postgres = env.ORRERY_DATABASE_URL
      ? undefined
      : await startPostgres({ dir: join(stateDir, 'postgres'), logDir, durable: true, progress })
    if (postgres) {
      parts.push(postgres)
      await createDatabase(postgres.adminUrl, 'orrery')
    }
    const databaseUrl = env.ORRERY_DATABASE_URL || (postgres?.url('orrery') ?? '')
    const install = (kubeconfig: string, { isOwn }: { isOwn: boolean }): Promise<void> => {
      progress('installing the definitions and roles')
      return installManifests({
        kubeconfig,
        hasAdmissionPolicies: isOwn,
        parameters: manifestParameters(env),
      })
    }
    const cluster = await startCluster({ ...options, logDir, parts, define: (file) => install(file, { isOwn: true }) })
    await Promise.all([keepToCluster(cluster.kubeconfig, stateDir), building])
    if (cluster.node === 'external') await install(cluster.kubeconfig, { isOwn: false })

    const objectStoreUrl = env.ORRERY_OBJECT_STORE_URL || pathToFileURL(join(stateDir, 'objects')).href
    const kept = (name: string): string => keptSecret(join(stateDir, name))
    const rootApiKey = env.ORRERY_ROOT_API_KEY || kept('root-api-key')
    const publicUrl = env.ORRERY_PUBLIC_URL || `http://${cluster.hostAddress}:${options.apiPort}`
    const metrics = { api: await freePort(), operator: await freePort() }
    const logs = logSettings(await freePort(), kept('logs-key'))
    const apiUrl = `http://127.0.0.1:${options.apiPort}`
    const shared = { ...passedOn(env), ORRERY_PUBLIC_URL: publicUrl, ORRERY_METRICS_ADDRESS: '127.0.0.1' }
    progress('starting the api and the operator')
    const superviseMain = (name: 'api' | 'operator', url: string, env: Record<string, string>): Promise<Supervised> =>
      supervise(() => startMain({ name, logDir, url, env }), { clock: systemClock, progress })
    const starting = [
      superviseMain('api', apiUrl, {
        ORRERY_KEY_PEPPER: kept('key-pepper'),
        ORRERY_KEY_ENCRYPTION_KEYS: `local:${kept('key-encryption-key')}`,
        // Pods reach the API at an address of this machine, and that traffic does not leave it.
        ORRERY_ALLOW_INSECURE_PUBLIC_URL: 'true',
        ...shared,
        ORRERY_OBJECT_STORE_URL: objectStoreUrl,
        KUBECONFIG: cluster.apiKubeconfig,
        ORRERY_PORT: String(options.apiPort),
        ORRERY_METRICS_PORT: String(metrics.api),
        ORRERY_DATABASE_URL: postgres ? apiRoleUrl(databaseUrl) : databaseUrl,
        ORRERY_DATABASE_OWNER_URL: env.ORRERY_DATABASE_OWNER_URL || databaseUrl,
        ORRERY_ROOT_API_KEY: rootApiKey,
        ...logs.api,
      }),
      superviseMain('operator', `http://127.0.0.1:${metrics.operator}`, {
        ...operatorMalloc,
        ORRERY_MEMORY_REQUEST_RATIO: requestRatio,
        // The images of this machine's node are imported, and are in no registry.
        ORRERY_IMAGE_PULL_POLICY: 'IfNotPresent',
        ORRERY_CPU_REQUEST_RATIO: requestRatio,
        ORRERY_DEFAULT_SERVER_IMAGE: cluster.serverImage,
        ORRERY_DEFAULT_BOT_IMAGE: cluster.botImage,
        // A stack has one operator at a time, so a new one need not wait for the lease of a killed one.
        ORRERY_LEASE_IDENTITY: `start-${idOf(stateDir)}`,
        ...shared,
        KUBECONFIG: cluster.operatorKubeconfig,
        ORRERY_METRICS_PORT: String(metrics.operator),
        ...logs.operator,
      }),
    ]
    const started = await Promise.allSettled(starting)
    const processes = started.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    parts.push(...processes)
    for (const each of started) if (each.status === 'rejected') throw each.reason

    const info: StackInfo = {
      apiUrl,
      publicUrl,
      realtimeUrl: `ws://127.0.0.1:${options.apiPort}/api/realtime/connect/`,
      rootApiKey,
      kubeconfig: cluster.kubeconfig,
      kubectl: cluster.kubectl,
      databaseUrl,
      objectStoreUrl,
      metricsUrls: { api: metricsUrlOf(metrics.api), operator: metricsUrlOf(metrics.operator) },
      node: cluster.node,
    }
    const ends = cluster.ends.map(async (end) => `The ${await end} ended.`)
    return { info, broken: Promise.race([...ends, ...processes.map(({ gaveUp }) => gaveUp)]), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Builds the console while Kubernetes starts. A fault in it never stops the stack: the API serves the rest. */
const buildConsoleFiles = (progress: Progress): Promise<unknown> =>
  buildConsole(consoleFolder).catch((error: Error) =>
    progress(`${error.message}. The API serves the last one that was built.`),
  )

const manifestParameters = (env: NodeJS.ProcessEnv) => ({
  namespacePrefix: env.ORRERY_NAMESPACE_PREFIX || 'orrery',
  hostPorts: env.ORRERY_HOST_PORTS || defaultHostPorts,
})

const metricsUrlOf = (port: number): string => `http://127.0.0.1:${port}/metrics`

/** Returns the settings with which the API reads logs through the operator. Their traffic does not leave this machine. */
const logSettings = (port: number, key: string) => ({
  api: { ORRERY_LOGS_KEY: key, ORRERY_OPERATOR_URL: `http://127.0.0.1:${port}` },
  operator: { ORRERY_LOGS_KEY: key, ORRERY_LOGS_PORT: String(port), ORRERY_LOGS_ADDRESS: '127.0.0.1' },
})

type Main = { name: 'api' | 'operator'; logDir: string; url: string; env: Record<string, string> }

const startMain = ({ name, logDir, url, env }: Main): Promise<Service> =>
  startService({
    name,
    command: process.execPath,
    args: [...(name === 'operator' ? operatorNodeFlags : nodeFlags), join(project, name, 'main.ts')],
    cwd: project,
    env,
    logFile: join(logDir, `${name}.log`),
    ready: async (signal) => (await fetch(`${url}/readyz`, { signal })).ok,
    readyTimeoutMs,
  })

/** Returns the settings of the user's environment that the stack does not set itself. */
const passedOn = (env: NodeJS.ProcessEnv): Record<string, string> => {
  const decided = [
    'ORRERY_PORT',
    'ORRERY_METRICS_PORT',
    'ORRERY_DATABASE_URL',
    'ORRERY_ROOT_API_KEY',
    'ORRERY_PUBLIC_URL',
  ]
  const entries = Object.entries(env).filter(([name]) => name.startsWith('ORRERY_') && !decided.includes(name))
  return Object.fromEntries(entries.map(([name, value]) => [name, value ?? '']))
}

const keptSecret = (file: string): string => {
  if (!existsSync(file)) writeFileSync(file, randomBytes(32).toString('base64url'), { mode: 0o600 })
  return readFileSync(file, 'utf8')
}
