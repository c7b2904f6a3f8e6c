import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { cacheDir, resolveBinaries } from './kubernetes/binaries.ts'
import type { Binary } from './kubernetes/build.ts'
import { startControlPlane } from './kubernetes/controlPlane.ts'
import { installManifests } from './kubernetes/manifests.ts'
import { chooseNode, missingForContainerd, startNode } from './node/index.ts'
import type { NodeChoice, NodeKind } from './node/types.ts'
import { freePort } from './ports.ts'
import { createDatabase, startPostgres } from './postgres.ts'
import { type Service, startService } from './process.ts'
import type { Progress } from './progress.ts'

/** Where everything of a running stack is; the content of stack.json. It holds the platform key. */
export type StackInfo = {
  readonly apiUrl: string
  readonly realtimeUrl: string
  readonly rootApiKey: string
  readonly kubeconfig: string
  readonly kubectl: string
  readonly databaseUrl: string
  readonly objectStoreUrl: string
  readonly metricsUrls: { readonly api: string; readonly operator: string }
  readonly node: NodeKind | 'external'
}

/** A running stack. */
export type Stack = {
  readonly info: StackInfo
  /** Resolves with the name of the first of its processes that ends by itself. */
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
/** A laptop holds many worlds only if their pods ask for a small part of their limits. */
const requestRatio = '0.02'
const readyTimeoutMs = 60_000

/** Starts the whole system on this machine. What was started is stopped again if a later part cannot be. */
export const startStack = async (options: StackOptions): Promise<Stack> => {
  const { stateDir, env, progress } = options
  const logDir = join(stateDir, 'logs')
  const parts: { stop(): Promise<void> }[] = []
  const stop = async (): Promise<void> => {
    for (const part of parts.splice(0).reverse()) await part.stop()
  }
  try {
    const postgres = env.ORRERY_DATABASE_URL
      ? undefined
      : await startPostgres({ dir: join(stateDir, 'postgres'), logDir, durable: true, progress })
    if (postgres) {
      parts.push(postgres)
      await createDatabase(postgres.adminUrl, 'orrery')
    }
    const databaseUrl = env.ORRERY_DATABASE_URL || (postgres?.url('orrery') ?? '')
    const cluster = env.KUBECONFIG ? await external(options) : await local(options, logDir, parts)
    progress('installing the definitions of World and BotDeployment')
    await installManifests(cluster)

    const objectStoreUrl = env.ORRERY_OBJECT_STORE_URL || pathToFileURL(join(stateDir, 'objects')).href
    const kept = (name: string): string => keptSecret(join(stateDir, name))
    const rootApiKey = env.ORRERY_ROOT_API_KEY || kept('root-api-key')
    const publicUrl = env.ORRERY_PUBLIC_URL || `http://${cluster.hostAddress}:${options.apiPort}`
    const metrics = { api: await freePort(), operator: await freePort() }
    const apiUrl = `http://127.0.0.1:${options.apiPort}`
    const shared = { ...passedOn(env), ORRERY_PUBLIC_URL: publicUrl }
    progress('starting the api and the operator')
    const starting = [
      main('api', logDir, apiUrl, {
        ORRERY_KEY_PEPPER: kept('key-pepper'),
        ORRERY_KEY_ENCRYPTION_KEYS: `local:${kept('key-encryption-key')}`,
        ...shared,
        ORRERY_OBJECT_STORE_URL: objectStoreUrl,
        KUBECONFIG: cluster.apiKubeconfig,
        ORRERY_PORT: String(options.apiPort),
        ORRERY_METRICS_PORT: String(metrics.api),
        ORRERY_DATABASE_URL: databaseUrl,
        ORRERY_ROOT_API_KEY: rootApiKey,
      }),
      main('operator', logDir, `http://127.0.0.1:${metrics.operator}`, {
        ORRERY_MEMORY_REQUEST_RATIO: requestRatio,
        ORRERY_CPU_REQUEST_RATIO: requestRatio,
        ORRERY_DEFAULT_SERVER_IMAGE: cluster.serverImage,
        ...shared,
        KUBECONFIG: cluster.operatorKubeconfig,
        ORRERY_METRICS_PORT: String(metrics.operator),
      }),
    ]
    const started = await Promise.allSettled(starting)
    const processes = started.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    parts.push(...processes)
    for (const each of started) if (each.status === 'rejected') throw each.reason

    const info: StackInfo = {
      apiUrl,
      realtimeUrl: `ws://127.0.0.1:${options.apiPort}/api/realtime/connect/`,
      rootApiKey,
      kubeconfig: cluster.kubeconfig,
      kubectl: cluster.kubectl,
      databaseUrl,
      objectStoreUrl,
      metricsUrls: {
        api: `http://127.0.0.1:${metrics.api}/metrics`,
        operator: `http://127.0.0.1:${metrics.operator}/metrics`,
      },
      node: cluster.node,
    }
    const ends = processes.map(({ name, exited }) => exited.then(() => name))
    return { info, broken: Promise.race([...ends, ...cluster.ends]), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

type Cluster = {
  kubeconfig: string
  kubectl: string
  apiKubeconfig: string
  operatorKubeconfig: string
  serverImage: string
  hostAddress: string
  node: StackInfo['node']
  /** Resolve with the name of a part of the cluster that ended. */
  ends: Promise<string>[]
}

/** A control plane and a node of this machine's own. */
const local = async (
  { stateDir, node: choice, env, progress }: StackOptions,
  logDir: string,
  parts: { stop(): Promise<void> }[],
): Promise<Cluster> => {
  const { kind, why } = chooseNode(choice, missingForContainerd(env))
  progress(`node: ${why}`)
  const nodeProgram: Binary = kind === 'containerd' ? 'kubelet' : 'kwok'
  const names = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl', nodeProgram] as const
  const binaries = await resolveBinaries(names, { env, progress })
  const controlPlane = await startControlPlane({
    dir: join(stateDir, 'kubernetes'),
    logDir,
    binaries,
    durable: true,
    progress,
  })
  parts.push(controlPlane)
  const nodeDir = join(stateDir, 'node')
  mkdirSync(nodeDir, { recursive: true })
  const node = await startNode(kind, {
    id: createHash('sha256').update(stateDir).digest('hex').slice(0, 8),
    dir: nodeDir,
    logDir,
    cacheDir: cacheDir(env),
    controlPlane,
    kubectl: binaries.kubectl,
    program: binaries[nodeProgram],
    progress,
  })
  parts.push(node)
  return {
    kubeconfig: controlPlane.adminKubeconfig,
    kubectl: binaries.kubectl,
    apiKubeconfig: await controlPlane.kubeconfig({ user: 'orrery-api' }),
    operatorKubeconfig: await controlPlane.kubeconfig({ user: 'orrery-operator' }),
    serverImage: env.ORRERY_DEFAULT_SERVER_IMAGE || node.serverImage,
    hostAddress: controlPlane.advertiseAddress,
    node: kind,
    ends: [controlPlane.ended],
  }
}

/** A cluster that runs already: both processes are who its kubeconfig says, and its nodes must have the image. */
const external = async ({ env, progress }: StackOptions): Promise<Cluster> => {
  const kubeconfig = env.KUBECONFIG ?? ''
  const serverImage = env.ORRERY_DEFAULT_SERVER_IMAGE
  if (!existsSync(kubeconfig))
    throw new Error(`KUBECONFIG names ${kubeconfig}, which is not there: correct or unset it.`)
  if (!serverImage || !env.ORRERY_PUBLIC_URL) {
    throw new Error(
      'With KUBECONFIG, also set ORRERY_DEFAULT_SERVER_IMAGE to an image that the cluster can pull, and ' +
        'ORRERY_PUBLIC_URL to a URL by which its pods reach this machine. Unset KUBECONFIG to run a cluster here.',
    )
  }
  progress(`node: those of the cluster that KUBECONFIG names`)
  const { kubectl } = await resolveBinaries(['kubectl'], { env, progress })
  const own = { apiKubeconfig: kubeconfig, operatorKubeconfig: kubeconfig }
  return { kubeconfig, kubectl, ...own, serverImage, hostAddress: '127.0.0.1', node: 'external', ends: [] }
}

const main = (name: 'api' | 'operator', logDir: string, url: string, env: Record<string, string>): Promise<Service> =>
  startService({
    name,
    command: process.execPath,
    args: [join(project, name, 'main.ts')],
    cwd: project,
    env,
    logFile: join(logDir, `${name}.log`),
    ready: async (signal) => (await fetch(`${url}/readyz`, { signal })).ok,
    readyTimeoutMs,
  })

/** The settings of the user's environment that the stack does not decide itself. */
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
