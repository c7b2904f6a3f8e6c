import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openPki } from '#dev/kubernetes/pki.ts'
import { freePort } from '#dev/ports.ts'
import type { ObjectInput } from '#shared/kube/client.ts'
import { accountKubeconfig } from '../account.ts'
import type { BenchCluster } from '../operator/cluster.ts'
import { applyObjects, installPeer, kubectl, type Program, readManifests, startProgram } from './program.ts'
import type { PeerFiles } from './settings.ts'
import { type Controller, type ControllerUsage, namespace, type Subject, shortName } from './subject.ts'

const ownNamespace = 'agones-system'
const resource = { group: 'agones.dev', version: 'v1', plural: 'gameservers', kind: 'GameServer' }

/** The values of its chart that both programs read. */
const chartValues = {
  NUM_WORKERS: '100',
  API_SERVER_QPS: '400',
  API_SERVER_QPS_BURST: '500',
  LOG_LEVEL: 'info',
  CLOUD_PRODUCT: 'generic',
  POD_NAMESPACE: ownNamespace,
  POD_NAME: 'peers',
}

const controllerValues = {
  MIN_PORT: '7000',
  MAX_PORT: '17000',
  SIDECAR_CPU_REQUEST: '30m',
  SIDECAR_IMAGE: 'registry.example/sidecar:1',
  LEADER_ELECTION: 'true',
}

type Webhook = { clientConfig: { service?: { path?: string } } }

/** Returns Agones with the values of its chart, except for the range of ports, which is too small for a burst. */
export const agones = (files: PeerFiles, httpPort: number): Subject => ({
  name: 'Agones',
  resource,
  nameOf: shortName,
  body: (name) => ({
    apiVersion: `${resource.group}/${resource.version}`,
    kind: resource.kind,
    metadata: { namespace, name },
    spec: {
      ports: [{ name: 'default', portPolicy: 'Dynamic', containerPort: 7654 }],
      template: {
        spec: {
          containers: [
            {
              name: 'server',
              image: 'registry.example/server:1',
              resources: { requests: { memory: '64Mi', cpu: '20m' }, limits: { memory: '64Mi', cpu: '20m' } },
            },
          ],
        },
      },
    },
  }),
  // The states after Scheduled are reported by its sidecar, which does not run on a simulated node.
  isReady: ({ status }) => status?.state === 'Scheduled',
  start: (cluster) => start(cluster, files, httpPort),
})

/** Installs Agones, and starts its webhooks and then its controller. */
const start = async (cluster: BenchCluster, files: PeerFiles, httpPort: number): Promise<Controller> => {
  await installPeer(cluster, files.manifests, ownNamespace)
  await giveNodesAddresses(cluster)
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'agones-sdk', namespace } }
  await applyObjects(cluster, [account])
  const pki = await openPki(join(cluster.dir, 'agones'), Date.now())
  const { certFile, keyFile } = await pki.server('webhooks', ['127.0.0.1'])
  const kubeconfig = await accountKubeconfig(cluster, { namespace: ownNamespace, name: 'agones-controller' })
  const env = { ...chartValues, KUBECONFIG: kubeconfig, CERT_FILE: certFile, KEY_FILE: keyFile }
  const webhookPort = await freePort()
  const started: Program[] = []
  const stop = async (): Promise<void> => {
    await kubectl(cluster)(['delete', 'mutatingwebhookconfigurations,validatingwebhookconfigurations', '--all'])
    for (const { service } of started.splice(0).reverse()) await service.stop()
  }
  const startPart = async (name: string, command: string, port: number, own: Record<string, string>): Promise<void> => {
    const url = `http://127.0.0.1:${port}`
    const args = [`--kubeconfig=${kubeconfig}`]
    const urls = { readyUrl: `${url}/live`, metricsUrl: `${url}/metrics` }
    started.push(await startProgram(cluster, { name, command, args, env: { ...env, ...own }, ...urls }))
  }
  const [controller = '', extensions = ''] = files.programs
  try {
    const port = await freePort()
    const ports = { HTTP_PORT: String(port), WEBHOOK_PORT: String(webhookPort) }
    await startPart('agones-extensions', extensions, port, { ...ports, READINESS_SHUTDOWN_DURATION: '1ms' })
    await startPart('agones-controller', controller, httpPort, controllerValues)
    await applyObjects(cluster, webhooks(files.manifests, webhookPort, readFileSync(pki.caFile)))
  } catch (error) {
    await stop()
    throw error
  }
  return { usage: () => sumUsage(started), stop }
}

const sumUsage = async (programs: readonly Program[]): Promise<ControllerUsage> => {
  const usages = await Promise.all(programs.map(({ usage }) => usage()))
  const sum = (key: keyof ControllerUsage): number => usages.reduce((all, usage) => all + usage[key], 0)
  return { cpuSeconds: sum('cpuSeconds'), rssMiB: sum('rssMiB'), writes: sum('writes') }
}

/** Returns the webhooks of game servers, at a URL on this machine instead of a service. Those of pods are left out. */
const webhooks = (manifests: readonly string[], port: number, ca: Buffer): ObjectInput[] =>
  readManifests(manifests)
    .filter(({ kind, metadata }) => kind.endsWith('WebhookConfiguration') && !metadata.name.startsWith('zzz-'))
    .map((configuration) => ({
      ...configuration,
      webhooks: (configuration.webhooks as Webhook[]).map((webhook) => ({
        ...webhook,
        clientConfig: {
          url: `https://127.0.0.1:${port}${webhook.clientConfig.service?.path ?? '/'}`,
          caBundle: ca.toString('base64'),
        },
      })),
    }))

/** Agones reads the address of a game server from its node, and the simulated node has none. */
const giveNodesAddresses = async (cluster: BenchCluster): Promise<void> => {
  const run = kubectl(cluster)
  const nodes = (await run(['get', 'nodes', '-o', 'name'])).split('\n').filter((name) => name !== '')
  const patch = JSON.stringify({ status: { addresses: [{ type: 'InternalIP', address: '127.0.0.1' }] } })
  for (const node of nodes) await run(['patch', node, '--subresource=status', '-p', patch])
}
