import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { type Service, startService } from '#dev/process.ts'
import { isNodeReady, kubectlOf } from './ready.ts'
import type { NodeOptions, StackNode } from './types.ts'

/** Names of images that are never pulled, since nothing runs on a simulated node. */
const images = { serverImage: 'orrery.dev/world-server:simulated', botImage: 'orrery.dev/bot:simulated' }
const simulated = 'The node is simulated, so no container runs.'

/** Starts a simulated node. Pods become Ready and end as on a real node, but nothing runs, and their status says so. */
export const startKwokNode = async (options: NodeOptions): Promise<StackNode> => {
  const { dir, logDir, controlPlane, progress } = options
  const name = `orrery-${options.id}`
  const kubectl = kubectlOf(options.kubectl, controlPlane.adminKubeconfig)
  const nodeFile = join(dir, 'node.yaml')
  writeFileSync(nodeFile, stringify(node(name)))
  const configFile = join(dir, 'kwok.yaml')
  writeFileSync(configFile, [configuration, ...stages].map((each) => stringify(each)).join('---\n'))
  await kubectl(['apply', '--server-side', '--force-conflicts', '-f', nodeFile])
  progress('starting kwok')
  const service: Service = await startService({
    name: 'kwok',
    command: options.program,
    args: [
      `--kubeconfig=${controlPlane.adminKubeconfig}`,
      `--config=${configFile}`,
      // With --manage-single-node, kwok would select pods by their node. The API server queues ten events for such a watch, closes
      // it when the queue is full, and kwok pauses for seconds. A real node has at most 110 pods, this one has thousands.
      `--manage-nodes-with-label-selector=kubernetes.io/hostname=${name}`,
      `--cidr=${options.podCidr ?? '10.250.0.0/16'}`,
      '--node-lease-duration-seconds=40',
    ],
    logFile: join(logDir, 'kwok.log'),
    ready: () => isNodeReady(kubectl, name),
    readyTimeoutMs: 120_000,
  })
  return { kind: 'kwok', name, ...images, stop: () => service.stop() }
}

const resources = { cpu: '1000', memory: '10Ti', pods: '20000' }

const node = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name,
    annotations: { 'kwok.x-k8s.io/node': 'fake', 'node.alpha.kubernetes.io/ttl': '0' },
    labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', type: 'kwok' },
  },
  status: { allocatable: resources, capacity: resources },
})

/** kwok's default limits are low: about 20 pods per second. */
const configuration = {
  apiVersion: 'config.kwok.x-k8s.io/v1alpha1',
  kind: 'KwokConfiguration',
  options: { podPlayStageParallelism: 16, nodePlayStageParallelism: 4, nodeLeaseParallelism: 4, enablePodCache: true },
}

const now = '{{ Now }}'
const condition = (type: string, status: string): string =>
  `- lastTransitionTime: ${now}\n  status: "${status}"\n  type: ${type}\n`

/**
 * A stage of simulated pods or nodes, as a kwok resource. `when` is an expression of CEL, which reads the object as it is. An
 * expression of jq would need a copy of it as JSON.
 */
const stage = (name: string, of: string, when: string, next: object, delayMs = 0) => ({
  apiVersion: 'kwok.x-k8s.io/v1alpha1',
  kind: 'Stage',
  metadata: { name },
  spec: {
    resourceRef: { apiGroup: 'v1', kind: of },
    selector: { matchExpressions: [{ cel: { expression: when } }] },
    ...(delayMs > 0 ? { delay: { durationMilliseconds: delayMs } } : {}),
    next,
  },
})
const graceOfPod = 'self.metadata.deletionGracePeriodSeconds'
/** The delay before a pod is deleted again. Its deletion is repeated only if the API server failed in the middle of it. */
const deleteAgainMs = 5_000

/** An address that nothing has (RFC 5737). A world on a node port becomes Active only with an address of its node. */
const nodeAddress = '192.0.2.1'

const stages = [
  stage('node-ready', 'Node', 'self.status.phase != "Running"', {
    statusTemplate: `phase: Running\naddresses:\n- type: InternalIP\n  address: ${nodeAddress}\nconditions:\n${condition('Ready', 'True')}`,
  }),
  stage('pod-ready', 'Pod', '!has(self.metadata.deletionTimestamp) && self.status.podIP == ""', {
    statusTemplate: [
      `phase: Running\nmessage: "${simulated}"\nstartTime: ${now}\nhostIP: {{ NodeIP }}\npodIP: {{ PodIP }}\n`,
      `conditions:\n${condition('Initialized', 'True')}${condition('Ready', 'True')}${condition('ContainersReady', 'True')}`,
      'containerStatuses:\n{{ range .spec.containers }}',
      `- name: {{ .name }}\n  image: {{ .image }}\n  imageID: ""\n  ready: true\n  restartCount: 0\n  started: true\n  state:\n    running:\n      startedAt: ${now}\n`,
      '{{ end }}',
    ].join(''),
  }),
  stage('pod-gone', 'Pod', `has(${graceOfPod}) && ${graceOfPod} > 0`, { delete: true }),
  // The API server sets the grace period to 0 and then deletes the pod, which are two events.
  stage('pod-gone-again', 'Pod', `has(${graceOfPod}) && ${graceOfPod} == 0`, { delete: true }, deleteAgainMs),
]
