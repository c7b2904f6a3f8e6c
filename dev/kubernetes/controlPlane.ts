import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { freePort } from '#dev/ports.ts'
import { type Service, startService } from '#dev/process.ts'
import type { Progress } from '#dev/progress.ts'
import type { Binary } from './hosts.ts'
import { kubeconfigText } from './kubeconfig.ts'
import { openPki, type Pki } from './pki.ts'

/** A Kubernetes control plane of real components on this machine. */
export type ControlPlane = {
  readonly url: string
  readonly caFile: string
  readonly adminKubeconfig: string
  /** The address at which nodes reach it. */
  readonly advertiseAddress: string
  readonly pki: Pki
  /** The path of a kubeconfig (mode 0600) with a client certificate for that identity. */
  kubeconfig(identity: { user: string; groups?: readonly string[] }): Promise<string>
  /** Stops and restarts only the API server, with the same port and data, for fault tests. */
  stopApiServer(): Promise<void>
  startApiServer(): Promise<void>
  /** Stops etcd and the API server, acts on the folder of etcd's data, and starts both with the same ports, for fault tests. */
  restartWithData(act: (folder: string) => void): Promise<void>
  /** Resolves with the name of the first of its processes that ends, by itself or by `stop`. */
  readonly ended: Promise<string>
  stop(): Promise<void>
}

export type ControlPlaneOptions = {
  dir: string
  logDir: string
  binaries: Record<'etcd' | 'kube-apiserver', string> &
    Partial<Record<Extract<Binary, 'kube-controller-manager' | 'kube-scheduler'>, string>>
  /**
   * Called with an administrator's kubeconfig before the controller-manager starts. The quota controller counts a kind
   * that is defined later only after its next discovery, up to 30 s later.
   */
  define?: (adminKubeconfig: string) => Promise<void>
  /** Makes data survive a crash of the machine. Otherwise etcd does not wait for the disk. */
  durable: boolean
  /**
   * The limits of the requests that the scheduler and the controller-manager send: their defaults (50 and 20 a second), or
   * high ones for benches of other components. Default: 'default'.
   */
  clientLimits?: ClientLimits
  progress: Progress
}

/** The client-side limits of the scheduler and the controller-manager. */
export type ClientLimits = 'default' | 'raised'

const serviceRange = '10.255.0.0/20'

/**
 * Starts etcd and kube-apiserver, and the controller-manager and the scheduler if their binaries are given. Data and
 * certificates in `dir` are reused by the next start; ports are chosen anew.
 */
export const startControlPlane = async (options: ControlPlaneOptions): Promise<ControlPlane> => {
  const { dir, binaries, progress } = options
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const pki = await openPki(join(dir, 'pki'), Date.now())
  const advertiseAddress = hostAddress()
  const port = await freePort()
  const url = `https://${advertiseAddress}:${port}`
  const kubeconfig = async (identity: { user: string; groups?: readonly string[] }): Promise<string> => {
    const pair = await pki.client(identity)
    const file = join(dir, `${identity.user.replaceAll(/[^a-z0-9-]/gi, '_')}.kubeconfig`)
    const text = kubeconfigText({
      url,
      user: identity.user,
      ca: readFileSync(pki.caFile),
      certificate: readFileSync(pair.certFile),
      key: readFileSync(pair.keyFile),
    })
    writeFileSync(file, text, { mode: 0o600 })
    return file
  }
  const adminKubeconfig = await kubeconfig({ user: 'admin', groups: ['system:masters'] })

  const running: Service[] = []
  const stop = async (): Promise<void> => {
    for (const service of running.splice(0).reverse()) await service.stop()
  }
  try {
    const etcdPort = await freePort()
    progress('starting etcd')
    running.push(await startEtcd(options, etcdPort))
    const serving = await servingFiles(pki, advertiseAddress)
    const apiServer = () => startApiServer({ ...options, pki, serving, port, etcdPort, advertiseAddress })
    progress('starting kube-apiserver')
    let server = await apiServer()
    running.push(server)
    await options.define?.(adminKubeconfig)
    for (const name of ['kube-controller-manager', 'kube-scheduler'] as const) {
      const command = binaries[name]
      if (command === undefined) continue
      progress(`starting ${name}`)
      running.push(await startComponent(options, name, command, await kubeconfig({ user: `system:${name}` }), pki))
    }
    return {
      url,
      caFile: pki.caFile,
      adminKubeconfig,
      advertiseAddress,
      pki,
      kubeconfig,
      stopApiServer: () => server.stop(),
      startApiServer: async () => {
        server = await apiServer()
        running[1] = server
      },
      restartWithData: async (act) => {
        await server.stop()
        await running[0]?.stop()
        act(etcdFolder(dir))
        running[0] = await startEtcd(options, etcdPort)
        server = await apiServer()
        running[1] = server
      },
      ended: Promise.race(running.map(({ name, exited }) => exited.then(() => name))),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

const etcdFolder = (dir: string): string => join(dir, 'etcd')

const startEtcd = async (options: ControlPlaneOptions, port: number): Promise<Service> => {
  const { dir, logDir, binaries, durable } = options
  const url = `http://127.0.0.1:${port}`
  const peerUrl = `http://127.0.0.1:${await freePort()}`
  return startService({
    name: 'etcd',
    command: binaries.etcd,
    args: [
      `--data-dir=${etcdFolder(dir)}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      `--initial-cluster=default=${peerUrl}`,
      ...(durable ? [] : ['--unsafe-no-fsync']),
    ],
    logFile: join(logDir, 'etcd.log'),
    ready: async (signal) => (await fetch(`${url}/health`, { signal })).ok,
    readyTimeoutMs: 120_000,
    deathSignal: deathSignalOf(options),
  })
}

/** An API server that gets SIGTERM waits for its clients and for etcd. Only data that is kept needs an orderly end. */
const deathSignalOf = ({ durable }: ControlPlaneOptions): NodeJS.Signals | undefined =>
  durable ? undefined : 'SIGKILL'

const servingFiles = async (pki: Pki, advertiseAddress: string) => ({
  server: await pki.server('kube-apiserver', [
    '127.0.0.1',
    'localhost',
    advertiseAddress,
    '10.255.0.1',
    'kubernetes.default.svc',
  ]),
  kubelet: await pki.client({ user: 'kube-apiserver-kubelet-client', groups: ['system:masters'] }),
  signing: await pki.signingKey(),
})

const startApiServer = (
  options: ControlPlaneOptions & {
    pki: Pki
    serving: Awaited<ReturnType<typeof servingFiles>>
    port: number
    etcdPort: number
    advertiseAddress: string
  },
): Promise<Service> => {
  const { serving, pki, port } = options
  // Without the controller-manager, the default service accounts that this plugin requires are not created.
  const alone = options.binaries['kube-controller-manager'] === undefined
  return startService({
    name: 'kube-apiserver',
    command: options.binaries['kube-apiserver'],
    args: [
      `--etcd-servers=http://127.0.0.1:${options.etcdPort}`,
      `--secure-port=${port}`,
      '--bind-address=0.0.0.0',
      `--advertise-address=${options.advertiseAddress}`,
      `--tls-cert-file=${serving.server.certFile}`,
      `--tls-private-key-file=${serving.server.keyFile}`,
      `--client-ca-file=${pki.caFile}`,
      `--kubelet-client-certificate=${serving.kubelet.certFile}`,
      `--kubelet-client-key=${serving.kubelet.keyFile}`,
      `--kubelet-certificate-authority=${pki.caFile}`,
      '--kubelet-preferred-address-types=InternalIP',
      `--service-account-signing-key-file=${serving.signing.keyFile}`,
      `--service-account-key-file=${serving.signing.publicFile}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-cluster-ip-range=${serviceRange}`,
      '--authorization-mode=Node,RBAC',
      '--anonymous-auth=false',
      // Without it, the API server itself refuses privileged pods, and no test could see an admission policy refuse them.
      ...(alone ? ['--disable-admission-plugins=ServiceAccount', '--allow-privileged=true'] : []),
    ],
    logFile: join(options.logDir, 'kube-apiserver.log'),
    ready: () => readyz(port, pki.caFile, join(options.dir, 'pki')),
    readyTimeoutMs: 180_000,
    deathSignal: deathSignalOf(options),
  })
}

/** Returns the arguments that the scheduler and the controller-manager share: their access, no leader election and no port. */
export const componentArgs = (kubeconfig: string): string[] => [
  `--kubeconfig=${kubeconfig}`,
  `--authentication-kubeconfig=${kubeconfig}`,
  `--authorization-kubeconfig=${kubeconfig}`,
  '--leader-elect=false',
  '--secure-port=0',
]

const startComponent = (
  { logDir, clientLimits = 'default' }: ControlPlaneOptions,
  name: string,
  command: string,
  kubeconfig: string,
  pki: Pki,
): Promise<Service> => {
  return startService({
    name,
    command,
    args: [
      ...componentArgs(kubeconfig),
      ...(clientLimits === 'raised' ? ['--kube-api-qps=2000', '--kube-api-burst=4000'] : []),
      ...(name === 'kube-controller-manager'
        ? [
            `--service-account-private-key-file=${join(pki.caFile, '..', 'service-account.key')}`,
            `--root-ca-file=${pki.caFile}`,
            '--use-service-account-credentials=true',
            ...(clientLimits === 'raised' ? [] : ['--concurrent-gc-syncs=4']),
          ]
        : []),
    ],
    logFile: join(logDir, `${name}.log`),
    // These have no port to query; one that cannot start ends within this time.
    ready: () => new Promise((resolve) => setTimeout(resolve, 300, true)),
    readyTimeoutMs: 5_000,
  })
}

const readyz = (port: number, caFile: string, pkiDir: string): Promise<boolean> =>
  new Promise((resolve) => {
    const asked = request(
      {
        host: '127.0.0.1',
        port,
        path: '/readyz',
        ca: readFileSync(caFile),
        cert: readFileSync(join(pkiDir, 'client-admin.crt')),
        key: readFileSync(join(pkiDir, 'client-admin.key')),
        timeout: 2_000,
        agent: false,
      },
      (answer) => {
        answer.resume()
        resolve(answer.statusCode === 200)
      },
    )
    asked.on('error', () => resolve(false))
    asked.on('timeout', () => asked.destroy())
    asked.end()
  })

/** Returns the machine's first address other than loopback, which pods and nodes can reach, or the loopback address. */
export const hostAddress = (): string => {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  return all.find((address) => address.family === 'IPv4' && !address.internal)?.address ?? '127.0.0.1'
}
