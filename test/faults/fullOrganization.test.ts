import { afterAll, beforeAll, expect, test } from 'vitest'
import { maxArgsBytes, maxMetadataBytes } from '#shared/domain/common.ts'
import { createClient } from '#shared/kube/client.ts'
import { botDeploymentResource } from '#shared/resources/group.ts'
import { aCluster } from '#test/support/cluster.ts'
import { aDatabase, startApi, startOperator } from '#test/support/processes.ts'

// A fifth of the default limits of an organization (1,000 worlds and 1,000 bot deployments), each resource as large as the
// API server accepts. Together they have 120 MiB, more than the operator's heap may have here: a ninth of its real limit.
const each = 200
const atOnce = 8
const operatorHeapMiB = 112
const apiHeapMiB = 176

const cluster = aCluster()
const namespace = `full-${Date.now()}`
const texts = (count: number, length: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`full.example/${at}`, 'x'.repeat(length)]))
const metadata = { annotations: texts(8, maxMetadataBytes / 8 - 14), labels: {} }
const args = Array.from({ length: 4 }, () => 'x'.repeat(maxArgsBytes / 4))
/** Kubernetes accepts 256 KiB of annotations. */
const kubeAnnotations = texts(4, 60_000)

beforeAll(async () => {
  const { transport, worlds } = cluster
  const namespaces = createClient(transport, { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace' })
  await namespaces.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  const botDeployments = createClient(transport, botDeploymentResource)
  const ofKind = (kind: string, name: string, spec: object) => ({
    apiVersion: 'orrery.dev/v1alpha1',
    kind,
    metadata: { name, namespace, annotations: kubeAnnotations },
    spec: { ...spec, metadata },
  })
  const fill = async (from: number): Promise<void> => {
    for (let at = from; at < each; at += atOnce) {
      const name = `full-${at}`
      const bots = { worldName: name, count: 0, description: 'x'.repeat(2048), args }
      await worlds.create(ofKind('World', name, { description: 'x'.repeat(256), runtime: { args } }))
      await botDeployments.create(ofKind('BotDeployment', name, bots))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, (_, from) => fill(from)))
}, 300_000)
afterAll(async () => {
  cluster.kubectl('delete', 'worlds,botdeployments', '--all', '-n', namespace, '--wait=false')
  await cluster.close()
})

test('an organization filled to its limits does not keep operator and API from starting within their memory', async () => {
  const heap = (maxMiB: number) => ({ NODE_OPTIONS: `--max-old-space-size=${maxMiB}` })
  const operator = await startOperator(heap(operatorHeapMiB))
  const api = await startApi({ databaseUrl: await aDatabase(), settings: heap(apiHeapMiB) })
  try {
    expect((await fetch(`${operator.url}/readyz`)).status).toBe(200)
    expect((await fetch(`${api.url}/readyz`)).status).toBe(200)
  } finally {
    await Promise.all([operator.stop(), api.stop()])
  }
}, 120_000)
