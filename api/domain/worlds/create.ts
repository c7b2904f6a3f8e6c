import type { NewId } from '#shared/ids.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'
import { toContextDetails } from './launchContext.ts'
import type { CreateWorld } from './schema.ts'
import type { LaunchContextRow, worlds } from './table.ts'

/** Builds the rows of a new world and its launch context, with all defaults. */
export const buildWorldRows = (
  input: CreateWorld,
  at: { organizationId: string; projectId: string; cluster: string; newId: NewId; now: Date },
): { world: typeof worlds.$inferInsert; launchContext: LaunchContextRow } => {
  const { streaming, runtime, admission, pictureUrl = '', ...fields } = input
  const scope = { organizationId: at.organizationId, projectId: at.projectId }
  const estimatedCapacity = scalingProfiles[input.networking.scaling.profile].capacity
  const policy = admission.policy ?? runtime.admissionPolicy ?? 'Open'
  const capacity = admission.capacity ?? runtime.capacity ?? estimatedCapacity
  const id = at.newId('world')
  const world = {
    id,
    resourceName: id,
    ...scope,
    ...fields,
    pictureUrl: pictureUrl === '' ? null : pictureUrl,
    runtime: { ...runtime, capacity, admissionPolicy: policy },
    admission: { policy, capacity },
    estimatedCapacity,
    cluster: at.cluster,
    createdAt: at.now,
    updatedAt: at.now,
  }
  const launchContext: LaunchContextRow = {
    id: at.newId('launchContext'),
    ...scope,
    worldId: world.id,
    name: input.name,
    description: input.description ?? null,
    pictureUrl: world.pictureUrl,
    isActive: true,
    isPublic: false,
    isWorldTravelOnly: false,
    useWorldSessions: true,
    details: toContextDetails(world, { streaming }),
  }
  return { world, launchContext }
}
