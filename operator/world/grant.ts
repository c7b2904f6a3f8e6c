import type { PodTenant } from '#operator/pods/pod.ts'
import { labels } from '#shared/resources/group.ts'
import type { NamespacePolicy } from '#shared/resources/namespacePolicy.ts'
import { resourceIdOf } from '#shared/resources/resourceId.ts'
import type { GrantedRun, World, WorldRun } from '#shared/resources/world.ts'

/** Returns the grant of a World if it is for this resource, in this organization, and for the run that the spec names. */
export const findGrant = ({ metadata, spec }: World, { organization }: NamespacePolicy): GrantedRun | undefined => {
  const { granted } = spec
  const isOwn = granted?.uid === metadata.uid && granted?.organizationId === organization
  return isOwn && granted?.id === spec.runId ? granted : undefined
}

/** Returns what a World in the namespace of an organization waits for while no run may begin. */
export const explainMissingGrant = ({ metadata, spec }: World, { organization }: NamespacePolicy): string => {
  const { granted } = spec
  const isForeign = granted !== undefined && (granted.uid !== metadata.uid || granted.organizationId !== organization)
  const why = isForeign ? 'The granted run belongs to another resource. ' : ''
  return `${why}Waiting for the API to confirm the start.`
}

/**
 * Returns the tenant of a run's pod and service in the namespace of an organization, with the ids that the API granted; undefined
 * elsewhere. Labels and status of the World count only for runs that were recorded without these ids.
 */
export const tenantOf = (world: World, run: WorldRun, policy: NamespacePolicy): PodTenant | undefined => {
  if (policy.organization === undefined) return undefined
  const granted = findGrant(world, policy)
  return {
    organizationId: policy.organization,
    projectId: run.projectId ?? granted?.projectId ?? world.metadata.labels?.[labels.project] ?? '',
    worldId: run.worldId ?? granted?.worldId ?? resourceIdOf('world', world),
  }
}
