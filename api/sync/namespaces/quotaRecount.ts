import type { Client } from '#shared/kube/client.ts'
import { fieldManagers } from '#shared/resources/group.ts'
import type { ResourceQuota } from './quotas.ts'

/**
 * Makes the cluster count the use of a quota now, by a change of its limits that is undone at once. The quota controller
 * discovers a new definition within 30 s, but then counts an existing quota only after a change of its limits, or every
 * 5 minutes. Until then it refuses every resource of that definition.
 */
export const recountQuota = async (client: Client<ResourceQuota>, { metadata, spec }: ResourceQuota): Promise<void> => {
  const pods = Number(spec.hard.pods)
  for (const limit of [pods + 1, pods]) {
    const patch = { spec: { hard: { pods: String(limit) } } }
    await client.patch(metadata, patch, { fieldManager: fieldManagers.api })
  }
}
