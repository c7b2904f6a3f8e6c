import { join } from 'node:path'
import { resolveBinaries } from '#dev/kubernetes/binaries.ts'
import { type Service, startService } from '#dev/process.ts'
import { getServers, type Servers } from './servers.ts'

/**
 * Starts the controller of Kubernetes that empties and removes terminating namespaces, by default in the cluster of this worker.
 * The control plane of a test has no other controllers.
 */
export const startNamespaceController = async (
  { adminKubeconfig }: Pick<Servers, 'adminKubeconfig'> = getServers(),
): Promise<Service> => {
  const { logDir } = getServers()
  const binaries = await resolveBinaries(['kube-controller-manager'], { env: process.env, progress: () => undefined })
  return startService({
    name: 'namespace-controller',
    command: binaries['kube-controller-manager'],
    args: [
      `--kubeconfig=${adminKubeconfig}`,
      '--controllers=namespace-controller',
      '--leader-elect=false',
      '--secure-port=0',
    ],
    logFile: join(logDir, 'namespace-controller.log'),
    // Without a port nothing tells when it is ready.
    ready: async () => true,
    readyTimeoutMs: 5_000,
    deathSignal: 'SIGKILL',
  })
}
