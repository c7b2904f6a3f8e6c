import { join } from 'node:path'
import { resolveBinaries } from '#dev/kubernetes/binaries.ts'
import { componentArgs } from '#dev/kubernetes/controlPlane.ts'
import { startService } from '#dev/process.ts'
import type { Node } from '#operator/pods/node.ts'
import { createClient } from '#shared/kube/client.ts'
import { loadCredentials } from '#shared/kube/config.ts'
import { createTransport } from '#shared/kube/transport.ts'
import { getServers } from '#test/support/servers.ts'

/** The nodes of the scheduler, with their addresses. */
export const schedulerNodes: ReadonlyMap<string, string> = new Map(
  [1, 2, 3].map((number) => [`crash-scheduled-${number}`, `192.168.8.${number}`]),
)

/** Starts the kube-scheduler of this worker's cluster, with nodes that have room for any number of pods. */
export const startScheduler = async () => {
  const { adminKubeconfig: kubeconfig, logDir } = getServers()
  const transport = createTransport({
    credentials: loadCredentials({ KUBECONFIG: kubeconfig }),
    userAgent: 'orrery-crash-scheduler',
  })
  const nodes = createClient<Node>(transport, { group: '', version: 'v1', plural: 'nodes', kind: 'Node' })
  const room = { cpu: '10k', memory: '10Ti', pods: '10k' }
  for (const [name, address] of schedulerNodes) {
    await nodes.create({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name },
      status: {
        addresses: [{ type: 'InternalIP', address }],
        allocatable: room,
        capacity: room,
        conditions: [{ type: 'Ready', status: 'True', reason: 'Test', lastTransitionTime: new Date().toISOString() }],
      },
    })
    // The API server taints a new node until the controller-manager, which does not run here, has seen it Ready.
    await nodes.patch({ name }, { spec: { taints: null } })
  }
  const { 'kube-scheduler': command } = await resolveBinaries(['kube-scheduler'], {
    env: process.env,
    progress: () => undefined,
  })
  const scheduler = await startService({
    name: 'kube-scheduler',
    command,
    args: componentArgs(kubeconfig),
    logFile: join(logDir, 'kube-scheduler.log'),
    // It has no port to query. The workloads wait for what it does.
    ready: async () => true,
    readyTimeoutMs: 5_000,
  })
  return {
    stop: async (): Promise<void> => {
      await scheduler.stop()
      for (const name of schedulerNodes.keys()) await nodes.delete({ name })
      await transport.close()
    },
  }
}
