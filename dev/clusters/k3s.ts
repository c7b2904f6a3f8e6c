import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { packProgramImages } from '#dev/images/image.ts'
import { asAdministrator } from '#dev/kubernetes/administrator.ts'
import { cacheDir, kubernetesVersion } from '#dev/kubernetes/binaries.ts'
import { hostAddress } from '#dev/kubernetes/controlPlane.ts'
import { freePort } from '#dev/ports.ts'
import { startService } from '#dev/process.ts'
import { until } from '#dev/until.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import type { Docker } from './docker.ts'
import { idOf } from './id.ts'
import { findKubectl } from './kubectl.ts'
import type { Cluster, ClusterOptions } from './types.ts'

const image = `rancher/k3s:v${kubernetesVersion}-k3s1`
const pullTimeoutMs = 600_000
const readyTimeoutMs = 180_000
const importTimeoutMs = 120_000
const removeTimeoutMs = 60_000
const nodes = { group: '', version: 'v1', plural: 'nodes', kind: 'Node' }
type Node = KubeObject & { status?: { conditions?: { type: string; status: string }[] } }

/**
 * A cluster of one real node in one privileged container. Its API is published on loopback alone. The container goes
 * when the stack stops; what it knows stays in two volumes, which a new state folder does not take over.
 */
export const startK3s = async (docker: Docker, options: ClusterOptions): Promise<Cluster> => {
  const { stateDir, env, progress, parts } = options
  const dir = join(stateDir, 'k3s')
  const name = `orrery-${idOf(stateDir)}`
  const serverImage = env.ORRERY_DEFAULT_SERVER_IMAGE || undefined
  if (serverImage === undefined && process.platform !== 'linux') {
    throw new Error('Set ORRERY_DEFAULT_SERVER_IMAGE: the default image of worlds can be packed on Linux alone.')
  }
  await removeContainer(docker, name)
  await adoptVolumes(docker, name, dir)
  await pull(docker, progress)
  parts.push({ stop: () => removeContainer(docker, name) })
  progress('starting k3s')
  const port = await freePort()
  const kubeconfig = join(dir, 'admin.kubeconfig')
  const service = await startService({
    name: 'k3s',
    command: docker.command,
    args: runArguments(name, port),
    env: docker.environment,
    logFile: join(options.logDir, 'k3s.log'),
    ready: () => isReady(docker, { name, port, kubeconfig }),
    readyTimeoutMs,
  })
  parts.push(service, { stop: () => endPods(docker, name) })
  const images = await imagesOf(docker, name, options)
  return {
    kubeconfig,
    kubectl: await findKubectl(options),
    apiKubeconfig: await writeAs(docker, { name, port, dir, user: 'orrery-api' }),
    operatorKubeconfig: await writeAs(docker, { name, port, dir, user: 'orrery-operator' }),
    ...images,
    hostAddress: hostAddress(),
    node: 'k3s',
    ends: [service.exited.then(() => 'k3s container')],
  }
}

/** The volume of /etc/rancher/node holds the password by which the cluster knows its node again. */
const runArguments = (name: string, port: number): string[] => [
  ...['run', '--rm', '--name', name, '--privileged', '--cgroupns=host', '--tmpfs', '/run', '--tmpfs', '/var/run'],
  ...['--publish', `127.0.0.1:${port}:6443`],
  ...['--volume', `${name}-data:/var/lib/rancher/k3s`, '--volume', `${name}-node:/etc/rancher/node`],
  ...[image, 'server', `--node-name=${name}`, '--tls-san=127.0.0.1'],
  '--disable=traefik,servicelb,metrics-server,local-storage',
]

const removeContainer = async (docker: Docker, name: string): Promise<void> => {
  // One that is not there is an error of some engines and none of others.
  await docker.run(['rm', '--force', '--volumes', name], { timeoutMs: removeTimeoutMs }).catch(() => '')
}

/** Volumes that this state folder does not know are of one that was forgotten. */
const adoptVolumes = async (docker: Docker, name: string, dir: string): Promise<void> => {
  if (existsSync(dir)) return
  await docker.run(['volume', 'rm', '--force', `${name}-data`, `${name}-node`], { timeoutMs: removeTimeoutMs })
  mkdirSync(dir, { recursive: true, mode: 0o700 })
}

const pull = async (docker: Docker, progress: ClusterOptions['progress']): Promise<void> => {
  const present = await docker.run(['image', 'inspect', image]).then(
    () => true,
    () => false,
  )
  if (present) return
  progress(`pulling ${image} (once)`)
  await docker.run(['pull', image], { timeoutMs: pullTimeoutMs })
}

type KubeconfigFile = { clusters: { cluster: { server: string } }[]; users: { user: object }[] }

/** k3s writes its own address into its kubeconfig; from here it has that of the published port. */
const readKubeconfig = async (docker: Docker, { name, port }: { name: string; port: number }) => {
  const config: KubeconfigFile = parse(await docker.run(['exec', name, 'cat', '/etc/rancher/k3s/k3s.yaml']))
  for (const { cluster } of config.clusters) cluster.server = `https://127.0.0.1:${port}`
  return config
}

const isReady = async (docker: Docker, of: { name: string; port: number; kubeconfig: string }): Promise<boolean> => {
  write(of.kubeconfig, await readKubeconfig(docker, of))
  const { items } = await asAdministrator(of.kubeconfig, (client) => client<Node>(nodes).list())
  return items.some(({ status }) => status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True'))
}

/** The administrator, acting as one of our processes: the rights are those of the process. */
const writeAs = async (
  docker: Docker,
  of: { name: string; port: number; dir: string; user: string },
): Promise<string> => {
  const config = await readKubeconfig(docker, of)
  for (const each of config.users) each.user = { ...each.user, as: of.user }
  const file = join(of.dir, `${of.user}.kubeconfig`)
  write(file, config)
  return file
}

const write = (file: string, config: KubeconfigFile): void =>
  writeFileSync(file, JSON.stringify(config, null, 2), { mode: 0o600 })

type Images = Pick<Cluster, 'serverImage' | 'botImage'>

/** What the environment names, and for the rest the packed ones; those exist on Linux alone. */
const imagesOf = async (docker: Docker, name: string, options: ClusterOptions): Promise<Images> => {
  const { ORRERY_DEFAULT_SERVER_IMAGE: serverImage = '', ORRERY_DEFAULT_BOT_IMAGE: botImage = '' } = options.env
  if (serverImage !== '' && (botImage !== '' || process.platform !== 'linux')) return { serverImage, botImage }
  const packed = await importImages(docker, name, options)
  return { serverImage: serverImage || packed.serverImage, botImage: botImage || packed.botImage }
}

const importImages = async (docker: Docker, name: string, { env, progress }: ClusterOptions): Promise<Images> => {
  progress('packing the images of worlds and bots, and giving them to the node')
  const { server, bot } = await packProgramImages(join(cacheDir(env), 'images'))
  const args = ['exec', '--interactive', name, 'ctr', '--namespace', 'k8s.io', 'images', 'import', '-']
  // A node may call itself Ready a moment before its runtime answers. One file holds both.
  const imported = () => docker.run(args, { input: server.tarFile, timeoutMs: importTimeoutMs }).then(() => true)
  await until('the node to take the images of worlds and bots', imported, importTimeoutMs)
  return { serverImage: server.reference, botImage: bot.reference }
}

/** Servers get three seconds, and the node is not left behind as one that seems Ready. */
const endPods = async (docker: Docker, name: string): Promise<void> => {
  const managed = 'app.kubernetes.io/managed-by=orrery-operator'
  const kubectl = (...args: string[]) => docker.run(['exec', name, 'kubectl', 'delete', ...args], { timeoutMs: 30_000 })
  await kubectl('pods', '-A', '-l', managed, '--grace-period=3', '--timeout=20s').catch(() => '')
  await kubectl('node', name, '--timeout=5s').catch(() => '')
}
