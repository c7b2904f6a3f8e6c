import { type Client, createClient, type Resource } from '#shared/kube/client.ts'
import { loadCredentials } from '#shared/kube/config.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { createTransport } from '#shared/kube/transport.ts'

/**
 * Calls `use` with a function that creates clients for the user of the kubeconfig. Closes their connections afterwards.
 */
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
