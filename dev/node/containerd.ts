import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type PackedImage, packPauseImage, packProductImages } from '#dev/images/image.ts'
import { freePort } from '#dev/ports.ts'
import { type Service, startService } from '#dev/process.ts'
import { cgroupRoots, placesOf, removeLeftovers } from './leftovers.ts'
import { isNodeReady, kubectlOf } from './ready.ts'
import { createBridge, findServicePrograms, startDns, startKubeProxy } from './services.ts'
import type { NodeOptions, StackNode } from './types.ts'

const run = promisify(execFile)
const namespace = 'k8s.io'
/** Pods have this long to end when the stack stops; an idle server needs less than two seconds. */
const podStopSeconds = 3

/**
 * Starts the real node: kubelet and containerd with folders, socket, network and cgroups of this stack alone. Where this
 * machine can run them, kube-proxy and CoreDNS give services their addresses and names.
 */
export const startContainerdNode = async (options: NodeOptions): Promise<StackNode> => {
  const { id, dir, progress, controlPlane } = options
  const places = placesOf(id)
  const kubeletDir = join(dir, 'kubelet')
  const name = `orrery-${id}`
  const kubectl = kubectlOf(options.kubectl, controlPlane.adminKubeconfig)
  await removeLeftovers(id, dir, [kubeletDir])
  for (const path of [places.runDir, kubeletDir, join(dir, 'cni')]) mkdirSync(path, { recursive: true })

  progress('packing the images of the node')
  const pause = await packPauseImage(join(options.cacheDir, 'images'))
  const images = await packProductImages(join(options.cacheDir, 'images'), ['world-server', 'bot'])
  const { 'world-server': server, bot } = images
  const programs = await findServicePrograms(options)
  const subnet = freeSubnet(id)
  const gateway = subnet.replace(/0\/24$/, '1')
  const running: Service[] = []
  const stop = async (): Promise<void> => {
    await kubectl(['delete', 'pods', '-A', '--all', `--grace-period=${podStopSeconds}`, '--timeout=20s']).catch(
      () => '',
    )
    for (const service of running.splice(0).reverse()) await service.stop()
    await removeLeftovers(id, dir, [kubeletDir])
    await kubectl(['delete', 'node', name]).catch(() => '')
  }
  try {
    progress('starting containerd')
    running.push(await startContainerd(options, { pauseImage: pause.reference, subnet }))
    for (const image of [pause, server, bot]) await importImage(places.runDir, image)
    await createBridge(places.bridge, gateway)
    if (programs) {
      progress('starting CoreDNS')
      running.push(await startDns(options, { command: programs.coreDns, address: gateway }))
    }
    progress('starting kubelet')
    running.push(
      await startKubelet(options, {
        name,
        kubeletDir,
        clusterDns: programs && gateway,
        ready: () => isNodeReady(kubectl, name),
      }),
    )
    if (programs) {
      progress('starting kube-proxy')
      running.push(await startKubeProxy(options, { command: programs.kubeProxy, node: name }))
    }
  } catch (error) {
    for (const service of running.reverse()) await service.stop()
    await removeLeftovers(id, dir, [kubeletDir])
    throw error
  }
  return { kind: 'containerd', name, serverImage: server.reference, botImage: bot.reference, stop }
}

const startContainerd = (
  { id, dir, logDir }: NodeOptions,
  { pauseImage, subnet }: { pauseImage: string; subnet: string },
): Promise<Service> => {
  const { runDir } = placesOf(id)
  const config = join(dir, 'containerd.toml')
  const cri = 'plugins."io.containerd.grpc.v1.cri"'
  writeFileSync(
    config,
    `version = 2
root = "${join(dir, 'containerd')}"
state = "${runDir}/containerd"
[grpc]
  address = "${runDir}/containerd.sock"
[ttrpc]
  address = "${runDir}/containerd.sock.ttrpc"
[${cri}]
  sandbox_image = "${pauseImage}"
  # Without CAP_SYS_RESOURCE the score cannot be lowered, and every sandbox would fail.
  restrict_oom_score_adj = true
  # In the state folder, whose mounts are all removed when the node ends. Otherwise they are in /var/run/netns, where
  # nothing tells the node of a namespace.
  netns_mounts_under_state_dir = true
  stream_server_address = "127.0.0.1"
[${cri}.cni]
  bin_dir = "/usr/lib/cni"
  conf_dir = "${join(dir, 'cni')}"
[${cri}.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[${cri}.containerd.runtimes.runc.options]
  SystemdCgroup = false
`,
  )
  writeFileSync(join(dir, 'cni', '10-orrery.conflist'), JSON.stringify(podNetwork(id, subnet)))
  return startService({
    name: 'containerd',
    command: 'containerd',
    args: ['--config', config],
    logFile: join(logDir, 'containerd.log'),
    ready: async () => (await ctr(runDir, ['version'])) !== '',
    readyTimeoutMs: 120_000,
  })
}

/** The CNI configuration of a node's pods: a bridge, and the host ports that the specs of pods name. */
export const podNetwork = (id: string, subnet: string) => {
  const { runDir, bridge, network } = placesOf(id)
  const ranges = [[{ subnet }]]
  return {
    cniVersion: '1.0.0',
    name: network,
    plugins: [
      {
        type: 'bridge',
        bridge,
        isGateway: true,
        ipam: { type: 'host-local', dataDir: `${runDir}/ipam`, ranges, routes: [{ dst: '0.0.0.0/0' }] },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  }
}

type Kubelet = {
  name: string
  kubeletDir: string
  /** The DNS server of pods. Without one, pods resolve names as this machine does. */
  clusterDns: string | undefined
  ready: () => Promise<boolean>
}

const startKubelet = async (
  { id, dir, logDir, controlPlane, program }: NodeOptions,
  { name, kubeletDir, clusterDns, ready }: Kubelet,
): Promise<Service> => {
  const { runDir, cgroup } = placesOf(id)
  for (const root of cgroupRoots()) mkdirSync(join(root, cgroup), { recursive: true })
  const serving = await controlPlane.pki.server(`kubelet-${name}`, [controlPlane.advertiseAddress, name])
  const config = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: controlPlane.advertiseAddress,
    port: await freePort(),
    healthzPort: 0,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: controlPlane.caFile },
    },
    authorization: { mode: 'Webhook' },
    tlsCertFile: serving.certFile,
    tlsPrivateKeyFile: serving.keyFile,
    containerRuntimeEndpoint: `unix://${runDir}/containerd.sock`,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${cgroup}`,
    failCgroupV1: false,
    failSwapOn: false,
    enforceNodeAllocatable: [],
    localStorageCapacityIsolation: false,
    evictionHard: {},
    imageGCHighThresholdPercent: 100,
    maxPods: 250,
    podPidsLimit: 1_024,
    // Kubelets that share the usual folder remove each other's logs.
    podLogsDir: join(dir, 'pod-logs'),
    // Nothing of the node needs the iptables chains of the kubelet, and the kubelet would leave them behind.
    makeIPTablesUtilChains: false,
    ...(clusterDns === undefined ? {} : { clusterDNS: [clusterDns], clusterDomain: 'cluster.local' }),
    // The kubelet of a single machine reports changes at once, since a user may be watching.
    nodeStatusUpdateFrequency: '5s',
    syncFrequency: '10s',
  }
  const configFile = join(dir, 'kubelet.json')
  writeFileSync(configFile, JSON.stringify(config, null, 2))
  const kubeconfig = await controlPlane.kubeconfig({ user: `system:node:${name}`, groups: ['system:nodes'] })
  return startService({
    name: 'kubelet',
    command: program,
    args: [
      `--config=${configFile}`,
      `--kubeconfig=${kubeconfig}`,
      `--root-dir=${kubeletDir}`,
      `--hostname-override=${name}`,
      `--node-ip=${controlPlane.advertiseAddress}`,
    ],
    logFile: join(logDir, 'kubelet.log'),
    ready,
    readyTimeoutMs: 120_000,
  })
}

/** Imports an image into the containerd of a node, unless it is there. */
export const importImage = async (runDir: string, image: PackedImage): Promise<void> => {
  const present = await ctr(runDir, ['images', 'ls', '-q'])
  if (present.split('\n').some((line) => line.endsWith(image.reference))) return
  await ctr(runDir, ['images', 'import', image.tarFile])
}

const ctr = async (runDir: string, args: readonly string[]): Promise<string> => {
  const all = ['--address', `${runDir}/containerd.sock`, '--namespace', namespace, ...args]
  return (await run('ctr', all, { timeout: 120_000 })).stdout
}

/** Returns a /24 of 10.0.0.0/8 that no interface of the machine uses, derived from the id so that it stays the same. */
const freeSubnet = (id: string): string => {
  const taken = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address))
  const first = Number.parseInt(id.slice(0, 4), 16)
  for (let step = 0; step < 200; step += 1) {
    const number = (first + step) % 0xc800
    const prefix = `10.${(number >> 8) + 40}.${number & 255}.`
    if (!taken.some((address) => address.startsWith(prefix))) return `${prefix}0/24`
  }
  throw new Error('No free /24 was found in 10.0.0.0/8 for the pods of this node')
}
