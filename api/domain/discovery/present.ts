import { liveConfigUrl, presentAddress, presentQueue } from '#api/domain/worlds/present.ts'
import type { LaunchContextRow, ShownWorld } from '#api/domain/worlds/table.ts'
import { optional } from '#api/platform/http/fields.ts'
import { isRunning } from '#shared/domain/phases.ts'
import type { TravelLocation } from './schema.ts'

type LocationSource = {
  world: Omit<ShownWorld, 'manifest'>
  context: LaunchContextRow
  deployment: { id: string; map: string } | undefined
}

/**
 * Returns a world as a travel location. Map, build and content are those of the run, without pending edits. A world without a run
 * sleeps.
 */
export const presentTravelLocation = (
  { world, context, deployment }: LocationSource,
  publicUrl: string,
): TravelLocation => ({
  deployment: deployment?.id ?? '',
  map: deployment?.map ?? world.runtime.mapName,
  buildId: world.resolvedBuild?.id ?? '',
  organizationId: world.organizationId,
  projectId: world.projectId,
  launchContextId: context.id,
  launchContextName: context.name,
  worldId: world.id,
  worldName: world.name,
  liveConfigUrl: liveConfigUrl(publicUrl, world.id),
  contentId: world.resolvedBuild?.contentId ?? '',
  metadata: world.metadata,
  ...(isRunning(world) ? {} : { isAsleep: true }),
  queueState: presentQueue(world),
  admission: world.admission,
  ...optional('pictureUrl', world.pictureUrl),
  ...presentAddress(world),
})
