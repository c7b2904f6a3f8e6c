import type { WorldRow } from '#api/worlds/table.ts'
import { apiFinalizer, groupVersion, labels, namespaceOf, worldResource } from '#shared/resources/group.ts'
import { type WorldSpec, worldSpecSchema } from '#shared/resources/world.ts'

/** A World as push applies it: the whole intent, always. */
export type DesiredWorld = {
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
  spec: WorldSpec
}

/**
 * The World that a row stands for, in canonical form. Where the row knows its resource, uid and resourceVersion are
 * sent, so that the API server refuses to bring back a deleted resource or to overwrite what was not looked at.
 */
export const desiredWorld = (row: WorldRow, namespacePrefix: string): DesiredWorld => ({
  apiVersion: groupVersion,
  kind: worldResource.kind,
  metadata: {
    name: row.id,
    namespace: namespaceOf(namespacePrefix, row.organizationId),
    labels: {
      [labels.organization]: row.organizationId,
      [labels.project]: row.projectId,
      [labels.managedBy]: 'orrery-api',
    },
    finalizers: [apiFinalizer],
    ...(row.resourceUid === null ? {} : { uid: row.resourceUid }),
    ...(row.resourceUid === null || row.appliedResourceVersion === null
      ? {}
      : { resourceVersion: row.appliedResourceVersion }),
  },
  spec: desiredSpec(row),
})

/** The canonical spec of a row. */
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
      mapName: row.runtime.mapName,
      ...(row.admission.capacity === undefined ? {} : { capacity: row.admission.capacity }),
    },
    metadata: row.metadata,
  })
