import type { StackInfo } from '#dev/stack.ts'
import { createClient } from '#shared/kube/client.ts'
import { loadCredentials } from '#shared/kube/config.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { createTransport } from '#shared/kube/transport.ts'
import { barePod, podResource } from './barePod.ts'
import { describeCpu, readProcessCpu } from './processCpu.ts'
import type { Row } from './report.ts'
import { watchReady } from './watch.ts'

const namespace = 'bench-pods'
let round = 0

/** Creates bare pods all at once, with the operator's client and the same shape, and waits until each is Ready. */
export const startPods = async (stack: StackInfo, count: number, what: string): Promise<Row> => {
  const transport = createTransport({
    credentials: loadCredentials({ KUBECONFIG: stack.kubeconfig }),
    userAgent: 'orrery-bench',
  })
  const pods = createClient<KubeObject>(transport, podResource)
  const namespaces = createClient<KubeObject>(transport, {
    group: '',
    version: 'v1',
    plural: 'namespaces',
    kind: 'Namespace',
  })
  const accounts = createClient<KubeObject>(transport, {
    group: '',
    version: 'v1',
    plural: 'serviceaccounts',
    kind: 'ServiceAccount',
  })
  const as = { fieldManager: 'orrery-bench', force: true }
  await namespaces.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }, as)
  // The API server rejects pods until this account exists, which the controller-manager creates later.
  await accounts.apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace } }, as)
  round += 1
  const names = Array.from({ length: count }, (_, at) => `bare-${round}-${at}`)
  const watched = await watchReady(transport, podResource)
  const before = readProcessCpu()
  const startedMs = performance.now()
  await Promise.all(names.map((name) => pods.create(barePod(namespace, name))))
  const times = await watched.ready.all(names)
  const usage = describeCpu(before, readProcessCpu(), count)
  await watched.stop()
  await Promise.all(names.map((name) => pods.delete({ namespace, name }, { gracePeriodSeconds: 0 })))
  await transport.close()
  return { what: `${what}: create → Ready`, timesMs: names.map((name) => (times.get(name) ?? 0) - startedMs), usage }
}
