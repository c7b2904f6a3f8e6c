import { freePort } from '#dev/ports.ts'
import { accountKubeconfig } from '../account.ts'
import { barePod } from '../barePod.ts'
import type { BenchCluster } from '../operator/cluster.ts'
import { hasReadyCondition } from '../operator/seen.ts'
import { installPeer, startProgram } from './program.ts'
import type { PeerFiles } from './settings.ts'
import { type Controller, namespace, type Subject, shortName } from './subject.ts'

const ownNamespace = 'agent-sandbox-system'
const resource = { group: 'agents.x-k8s.io', version: 'v1beta1', plural: 'sandboxes', kind: 'Sandbox' }

/** Flags of a controller that is tuned for bursts. */
const tuning = [
  '--sandbox-concurrent-workers=1000',
  '--api-connections=4',
  '--separate-watch-connection',
  '--cache-label-selectors',
  '--zap-log-level=error',
]

/** The smallest pod of its examples. */
const smallPod: object = {
  terminationGracePeriodSeconds: 1,
  containers: [{ name: 'server', image: 'registry.example/server:1', command: ['sleep', '3600'] }],
}

/**
 * Returns kubernetes-sigs/agent-sandbox with its default flags, with the pod of a world, which is twice as large as that of its
 * examples, and tuned for bursts.
 */
export const agentSandbox = (files: PeerFiles): Subject[] => {
  const subject = (name: string, flags: readonly string[], podSpec = smallPod): Subject => ({
    name,
    resource,
    nameOf: shortName,
    body: (objectName) => ({
      apiVersion: `${resource.group}/${resource.version}`,
      kind: resource.kind,
      metadata: { namespace, name: objectName },
      spec: {
        podTemplate: { spec: podSpec },
      },
    }),
    isReady: hasReadyCondition,
    start: (cluster) => start(cluster, files, flags),
  })
  return [
    subject('agent-sandbox', []),
    subject('agent-sandbox same pod', [], barePod(namespace, 'any').spec),
    subject('agent-sandbox tuned', tuning),
  ]
}

const start = async (cluster: BenchCluster, files: PeerFiles, flags: readonly string[]): Promise<Controller> => {
  await installPeer(cluster, files.manifests, ownNamespace)
  const [metrics, health] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`]
  const { service, usage } = await startProgram(cluster, {
    name: 'agent-sandbox',
    command: files.programs[0] ?? '',
    args: [
      '--leader-elect=true',
      `--leader-election-namespace=${ownNamespace}`,
      '--enable-webhook=false',
      `--metrics-bind-address=${metrics}`,
      `--health-probe-bind-address=${health}`,
      ...flags,
    ],
    env: {
      KUBECONFIG: await accountKubeconfig(cluster, { namespace: ownNamespace, name: 'agent-sandbox-controller' }),
    },
    readyUrl: `http://${health}/readyz`,
    metricsUrl: `http://${metrics}/metrics`,
  })
  return { usage, stop: () => service.stop() }
}
