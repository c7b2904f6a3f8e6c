import { idOfUid, isId, type NewId } from '#shared/ids.ts'
import type { ObjectMeta } from '#shared/kube/objects.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'
import { toContextDetails } from './launchContext.ts'
import { nextActionOf } from './schedule.ts'
import type { CreateWorld } from './schema.ts'
import type { LaunchContextRow, worlds } from './table.ts'

type NewRow = {
  readonly organizationId: string
  readonly projectId: string
  readonly cluster: string
  readonly newId: NewId
  readonly now: Date
  /** The resource, if kubectl made it. Its name is its id, or its id follows from its uid. */
  readonly metadata?: ObjectMeta
}

/** Returns the columns with which the rows of worlds and of bot deployments begin. */
export const newRow = (kind: 'world' | 'bot', { newId, now, metadata, ...scope }: NewRow) => {
  const { organizationId, projectId, cluster } = scope
  const common = { organizationId, projectId, cluster, createdAt: now, updatedAt: now }
  if (metadata === undefined) {
    const id = newId(kind)
    return { ...common, id, resourceName: id }
  }
  const { name, uid = '' } = metadata
  return { ...common, id: isId(kind, name) ? name : idOfUid(kind, uid), resourceName: name, resourceUid: uid }
}

/** Builds the rows of a new world and its launch context, with all defaults. */
export const buildWorldRows = (
  input: CreateWorld,
  at: NewRow,
): { world: typeof worlds.$inferInsert; launchContext: LaunchContextRow } => {
  const { streaming, runtime, admission, pictureUrl = '', ...fields } = input
  const scope = { organizationId: at.organizationId, projectId: at.projectId }
  const estimatedCapacity = scalingProfiles[input.networking.scaling.profile].capacity
  const policy = admission.policy ?? runtime.admissionPolicy ?? 'Open'
  const capacity = admission.capacity ?? runtime.capacity ?? estimatedCapacity
  const world = {
    ...newRow('world', at),
    ...fields,
    pictureUrl: pictureUrl === '' ? null : pictureUrl,
    runtime: { ...runtime, capacity, admissionPolicy: policy },
    admission: { policy, capacity },
    nextAction: nextActionOf(runtime.schedule, at.now),
    estimatedCapacity,
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
