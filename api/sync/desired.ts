import type { BotRow } from '#api/domain/bots/table.ts'
import type { WorldRow } from '#api/domain/worlds/table.ts'
import { type BotDeploymentSpec, botDeploymentSpecSchema } from '#shared/resources/botDeployment.ts'
import {
  apiFinalizer,
  botDeploymentResource,
  groupVersion,
  labels,
  namespaceOf,
  worldResource,
} from '#shared/resources/group.ts'
import { type WorldSpec, worldSpecSchema } from '#shared/resources/world.ts'
import type { SyncedRow } from './synced.ts'

/** A resource as push applies it. It always contains the full intent. */
export type Desired<Spec> = {
  apiVersion: string
  kind: string
  metadata: {
    name: string
    namespace: string
    labels: Record<string, string>
    finalizers: string[]
    uid?: string
    resourceVersion?: string
  }
  spec: Spec
}

/** Returns the World of a row, in canonical form. */
export const desiredWorld = (row: WorldRow, namespacePrefix: string): Desired<WorldSpec> => ({
  apiVersion: groupVersion,
  kind: worldResource.kind,
  metadata: metadataOf(row, namespacePrefix, {}),
  spec: desiredSpec(row),
})

/** Returns the BotDeployment of a row, in canonical form. */
export const desiredBots = (row: BotRow, namespacePrefix: string): Desired<BotDeploymentSpec> => ({
  apiVersion: groupVersion,
  kind: botDeploymentResource.kind,
  metadata: metadataOf(row, namespacePrefix, { [labels.world]: row.worldId }),
  spec: desiredBotSpec(row),
})

/**
 * Returns the metadata to apply. It contains the recorded uid and resourceVersion, so that the API server refuses to
 * recreate a deleted resource or to overwrite an unseen change.
 */
const metadataOf = (
  row: SyncedRow & { readonly projectId: string },
  namespacePrefix: string,
  more: Record<string, string>,
): Desired<unknown>['metadata'] => ({
  name: row.id,
  namespace: namespaceOf(namespacePrefix, row.organizationId),
  labels: {
    [labels.organization]: row.organizationId,
    [labels.project]: row.projectId,
    [labels.managedBy]: 'orrery-api',
    ...more,
  },
  finalizers: [apiFinalizer],
  ...(row.resourceUid === null ? {} : { uid: row.resourceUid }),
  ...(row.resourceUid === null || row.appliedResourceVersion === null
    ? {}
    : { resourceVersion: row.appliedResourceVersion }),
})

/** Returns the canonical spec of a world's row. */
export const desiredSpec = (row: WorldRow): WorldSpec =>
  worldSpecSchema.parse({
    displayName: row.name,
    description: row.description ?? '',
    state: row.state,
    ...(row.runId === null || row.startedAt === null
      ? {}
      : { runId: row.runId, startedAt: row.startedAt.toISOString() }),
    revision: row.revision,
    transient: row.transient,
    ...(row.runtime.durationMinutes === undefined ? {} : { durationMinutes: row.runtime.durationMinutes }),
    scaling: { profile: row.networking.scaling.profile },
    compute: { group: row.compute.group, region: row.compute.region },
    networking: { strategy: row.networking.strategy },
    runtime: {
      ...(row.resolvedBuild === null
        ? {}
        : {
            image: row.resolvedBuild.image,
            contentId: row.resolvedBuild.contentId,
            probes: row.resolvedBuild.probes,
          }),
      mapName: row.runtime.mapName,
      capacity: row.admission.capacity,
    },
    metadata: row.metadata,
  })

/** Returns the canonical spec of a bot deployment's row. */
export const desiredBotSpec = (row: BotRow): BotDeploymentSpec =>
  botDeploymentSpecSchema.parse({
    worldName: row.worldId,
    description: row.description,
    count: row.count,
    cpu: row.cpu,
    memory: row.memory,
    args: row.args,
    ...(row.durationMinutes === null ? {} : { durationMinutes: row.durationMinutes }),
    revision: row.revision,
    metadata: row.metadata,
  })
