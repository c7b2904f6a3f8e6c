import { installManifests } from '#dev/kubernetes/manifests.ts'
import { createClient, type Resource } from '#shared/kube/client.ts'
import { isNotFound } from '#shared/kube/errors.ts'
import type { Transport } from '#shared/kube/transport.ts'
import { definitionResource } from '#shared/resources/group.ts'
import { orAbsent } from '#test/crash/until.ts'
import { namespacePrefixes } from '#test/support/namespacePrefixes.ts'
import { eventually } from '#test/support/wait.ts'

/** The namespaces and definitions of a cluster, which an administrator deletes. */
export type Containers = ReturnType<typeof createContainers>

const goneMs = { timeoutMs: 60_000 }

/** Creates the deletions of namespaces and definitions. Each waits until the object is gone. */
export const createContainers = (transport: Transport, adminKubeconfig: string) => {
  const namespaces = createClient(transport, { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace' })
  const definitions = createClient(transport, definitionResource)
  const remove = async (client: typeof namespaces, name: string): Promise<void> => {
    try {
      const { metadata } = await client.patch(
        { name },
        { metadata: { annotations: { 'orrery.dev/allow-delete': 'true' } } },
      )
      await client.delete({ name })
      // The API recreates a namespace as soon as it is gone.
      await eventually(
        `${name} is gone`,
        async () => (await orAbsent(client.get({ name })))?.metadata.uid !== metadata.uid,
        goneMs,
      )
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }
  return {
    deleteNamespace: (name: string) => remove(namespaces, name),
    /** Deletes the definitions of some kinds, and installs them again. */
    replaceDefinitions: async (kinds: readonly Resource[]): Promise<void> => {
      for (const { plural, group } of kinds) await remove(definitions, `${plural}.${group}`)
      await installManifests({
        kubeconfig: adminKubeconfig,
        parameters: { namespacePrefix: namespacePrefixes },
      })
    },
  }
}
