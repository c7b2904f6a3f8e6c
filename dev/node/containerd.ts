import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type PackedImage, packPauseImage, packProgramImages } from '#dev/images/image.ts'
import { freePort } from '#dev/ports.ts'
import { type Service, startService } from '#dev/process.ts'
import { cgroupRoots, placesOf, removeLeftovers } from './leftovers.ts'
import { isNodeReady, kubectlOf } from './ready.ts'
import type { NodeOptions, StackNode } from './types.ts'

const run = promisify(execFile)
const namespace = 'k8s.io'
/** Pods have this long to end when the stack stops; an idle server needs less than two seconds. */
const podStopSeconds = 3

/** The real node: kubelet and containerd with folders, socket, network and cgroups of this stack alone. */
export const startContainerdNode = async (options: NodeOptions): Promise<StackNode> => {
  const { id, dir, progress, controlPlane } = options
  const places = placesOf(id)
  const kubeletDir = join(dir, 'kubelet')
  const name = `orrery-${id}`
  const kubectl = kubectlOf(options.kubectl, controlPlane.adminKubeconfig)
  await removeLeftovers(id, [kubeletDir])
  for (const path of [places.runDir, kubeletDir, join(dir, 'cni')]) mkdirSync(path, { recursive: true })

  progress('packing the images of the node')
  const pause = await packPauseImage(join(options.cacheDir, 'images'))
  const { server, bot } = await packProgramImages(join(options.cacheDir, 'images'))
  const running: Service[] = []
  const stop = async (): Promise<void> => {
    await kubectl(['delete', 'pods', '-A', '--all', `--grace-period=${podStopSeconds}`, '--timeout=20s']).catch(
      () => '',
    )
    for (const service of running.splice(0).reverse()) await service.stop()
    await removeLeftovers(id, [kubeletDir])
    await kubectl(['delete', 'node', name]).catch(() => '')
  }
  try {
    progress('starting containerd')
    running.push(await startContainerd(options, pause.reference))
    for (const image of [pause, server, bot]) await importImage(places.runDir, image)
    progress('starting kubelet')
    running.push(await startKubelet(options, name, kubeletDir, () => isNodeReady(kubectl, name)))
  } catch (error) {
    for (const service of running.reverse()) await service.stop()
    await removeLeftovers(id, [kubeletDir])
    throw error
  }
  return { kind: 'containerd', name, serverImage: server.reference, botImage: bot.reference, stop }
}

const startContainerd = ({ id, dir, logDir }: NodeOptions, pauseImage: string): Promise<Service> => {
  const { runDir, bridge, network } = placesOf(id)
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
  const subnet = freeSubnet(id)
  const cni = {
    cniVersion: '1.0.0',
    name: network,
    plugins: [
      {
        type: 'bridge',
        bridge,
        isGateway: true,
        ipam: { type: 'host-local', dataDir: `${runDir}/ipam`, ranges: [[{ subnet }]] },
      },
    ],
  }
  writeFileSync(join(dir, 'cni', '10-orrery.conflist'), JSON.stringify(cni))
  return startService({
    name: 'containerd',
    command: 'containerd',
    args: ['--config', config],
    logFile: join(logDir, 'containerd.log'),
    ready: async () => (await ctr(runDir, ['version'])) !== '',
    readyTimeoutMs: 30_000,
  })
}

const startKubelet = async (
  { id, dir, logDir, controlPlane, program }: NodeOptions,
  name: string,
  kubeletDir: string,
  ready: () => Promise<boolean>,
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
    // A node of one machine: what changes is told at once, since somebody watches.
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
    readyTimeoutMs: 60_000,
  })
}

const importImage = async (runDir: string, image: PackedImage): Promise<void> => {
  const present = await ctr(runDir, ['images', 'ls', '-q'])
  if (present.split('\n').some((line) => line.endsWith(image.reference))) return
  await ctr(runDir, ['images', 'import', image.tarFile])
}

const ctr = async (runDir: string, args: readonly string[]): Promise<string> => {
  const all = ['--address', `${runDir}/containerd.sock`, '--namespace', namespace, ...args]
  return (await run('ctr', all, { timeout: 120_000 })).stdout
}

/** A /24 of 10.0.0.0/8 that no interface of the machine is in; derived from the id, so that it stays the same. */
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
