import { type Client, createClient, type Resource } from '#shared/kube/client.ts'
import { loadCredentials } from '#shared/kube/config.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { createTransport } from '#shared/kube/transport.ts'

/** Speaks to the cluster as whom the kubeconfig says; the connections are closed when `use` is over. */
export const asAdministrator = async <T>(
  kubeconfig: string,
  use: (client: <O extends KubeObject>(resource: Resource) => Client<O>) => Promise<T>,
): Promise<T> => {
  const credentials = loadCredentials({ KUBECONFIG: kubeconfig })
  const transport = createTransport({ credentials, userAgent: 'orrery-start' })
  try {
    return await use((resource) => createClient(transport, resource))
  } finally {
    await transport.close()
  }
}
