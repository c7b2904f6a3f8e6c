import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { kubectlOf } from '#dev/node/ready.ts'
import { type Service, startService } from '#dev/process.ts'
import { until } from '#dev/until.ts'
import type { ObjectInput } from '#shared/kube/client.ts'
import type { BenchCluster } from '../operator/cluster.ts'
import { sumMetric } from '../serverMetrics.ts'
import type { ControllerUsage } from './subject.ts'

/** Runs kubectl as the administrator of the cluster. */
export const kubectl = ({ kubectl: program, kubeconfig }: BenchCluster) => kubectlOf(program, kubeconfig)

const servedTimeoutMs = 60_000

const installedKinds = [
  'Namespace',
  'CustomResourceDefinition',
  'ClusterRole',
  'ClusterRoleBinding',
  'Role',
  'RoleBinding',
  'ServiceAccount',
]

/** Reads all objects of YAML files. */
export const readManifests = (files: readonly string[]): ObjectInput[] =>
  files
    .flatMap((file) => parseAllDocuments(readFileSync(file, 'utf8')))
    .flatMap((document): ObjectInput[] => document.toJS() ?? [])

/** Applies objects in the order of their kinds, each kind after those that it needs. */
export const applyObjects = async (cluster: BenchCluster, objects: readonly ObjectInput[]): Promise<void> => {
  const file = join(cluster.dir, 'peer.json')
  const rank = ({ kind }: ObjectInput): number => installedKinds.indexOf(kind)
  const items = [...objects].sort((a, b) => rank(a) - rank(b))
  writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
  await kubectl(cluster)(['apply', '--server-side', '--force-conflicts', '-f', file], 60_000)
}

/**
 * Installs the definitions, roles and accounts of a peer, but nothing that runs. Conversion webhooks are turned off, since
 * only the stored version is used.
 */
export const installPeer = async (
  cluster: BenchCluster,
  manifests: readonly string[],
  peerNamespace: string,
): Promise<void> => {
  const objects = readManifests(manifests).filter(({ kind }) => installedKinds.includes(kind))
  const withoutConversion = objects.map((object) =>
    object.kind === 'CustomResourceDefinition'
      ? { ...object, spec: { ...(object.spec as object), conversion: { strategy: 'None' } } }
      : object,
  )
  const own = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: peerNamespace } }
  await applyObjects(cluster, [own, ...withoutConversion])
  // kubectl fails for a definition that has no conditions yet.
  const isServed = async (): Promise<true> => {
    await kubectl(cluster)(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=10s'])
    return true
  }
  await until('the definitions of the peer to be served', isServed, servedTimeoutMs)
}

/** A program of a peer. Its metrics are in the format of Prometheus. */
export type Program = { readonly service: Service; usage(): Promise<ControllerUsage> }

/** Starts a program of a peer, and waits until it serves its metrics and `readyUrl`. */
export const startProgram = async (
  cluster: BenchCluster,
  options: {
    name: string
    command: string
    args?: readonly string[]
    env: Record<string, string>
    readyUrl: string
    metricsUrl: string
  },
): Promise<Program> => {
  const { name, command, args = [], env, readyUrl, metricsUrl } = options
  const service = await startService({
    name,
    command,
    args,
    env,
    logFile: join(cluster.logDir, `${name}.log`),
    ready: async (signal) => (await fetch(readyUrl, { signal })).ok && (await fetch(metricsUrl, { signal })).ok,
    readyTimeoutMs: 120_000,
  })
  return { service, usage: async () => parseUsage(await (await fetch(metricsUrl)).text()) }
}

/** Reads the usage from the metrics of a controller of client-go, with the names of controller-runtime or of Agones. */
const parseUsage = (metrics: string): ControllerUsage => ({
  cpuSeconds: sumMetric(metrics, 'process_cpu_seconds_total'),
  rssMiB: Math.round(sumMetric(metrics, 'process_resident_memory_bytes') / 2 ** 20),
  writes:
    sumMetric(metrics, 'rest_client_requests_total', /method="(POST|PUT|PATCH|DELETE)"/) +
    sumMetric(metrics, '(?:agones_)?k8s_client_http_request_total', /verb="(POST|PUT|PATCH|DELETE)"/),
})
