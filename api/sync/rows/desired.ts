import type { BotRow } from '#api/domain/bots/table.ts'
import type { PushedWorld } from '#api/domain/worlds/table.ts'
import { programOf } from '#api/domain/worlds/transitions.ts'
import { serverSettings } from '#shared/domain/world.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import { type BotDeploymentSpec, botDeploymentSpecSchema } from '#shared/resources/botDeployment.ts'
import {
  apiFinalizer,
  groupVersion,
  idLabelOf,
  type Kind,
  kinds,
  labels,
  namespaceOf,
  traceparentAnnotation,
} from '#shared/resources/group.ts'
import { type GrantedRun, type WorldSpec, worldSpecSchema } from '#shared/resources/world.ts'
import type { SyncedRow } from './synced.ts'

/** A resource as push applies it. It always contains the full intent. */
export type Desired<Spec> = KubeObject & { readonly spec: Spec }

/** The part of a kind that decides its resources. */
export type Desire<Row, Spec> = {
  readonly kind: Kind
  /** Returns the canonical spec of a row. */
  readonly toSpec: (row: Row) => Spec
  /** Returns the labels of a row's resource in addition to those that every kind has. */
  readonly labelsOf?: (row: Row) => Record<string, string>
}

/**
 * Returns the resource of a row, in canonical form. It contains the recorded uid and resourceVersion, so that the API server refuses
 * to recreate a deleted resource or to overwrite an unseen change.
 */
export const toDesired = <Row extends SyncedRow, Spec>(
  { kind, toSpec, labelsOf }: Desire<Row, Spec>,
  row: Row,
  namespacePrefix: string,
): Desired<Spec> => ({
  apiVersion: groupVersion,
  kind: kinds[kind].kind,
  metadata: {
    name: row.resourceName,
    namespace: namespaceOf(namespacePrefix, row.organizationId),
    labels: {
      [labels.organization]: row.organizationId,
      [labels.project]: row.projectId,
      [labels.managedBy]: 'orrery-api',
      [idLabelOf(kind)]: row.id,
      ...labelsOf?.(row),
    },
    finalizers: [apiFinalizer],
    ...(row.resourceUid !== null && { uid: row.resourceUid }),
    ...(row.resourceUid !== null &&
      row.appliedResourceVersion !== null && { resourceVersion: row.appliedResourceVersion }),
  },
  spec: toSpec(row),
})

/**
 * Adds the trace of a new revision to a resource. An apply of the revision that the live resource has keeps its annotation, so
 * that no write is for the annotation alone. A new revision without a trace clears what an earlier one or kubectl left.
 */
export const withTraceparent = <Spec extends { readonly revision?: number }>(
  desired: Desired<Spec>,
  live: (KubeObject & { readonly spec: { readonly revision?: number } }) | undefined,
  traceparent: string | undefined,
): Desired<Spec> => {
  const present = live?.metadata.annotations?.[traceparentAnnotation]
  const isWritten = live !== undefined && live.spec.revision === desired.spec.revision
  const value = isWritten ? present : (traceparent ?? (present && ''))
  if (value === undefined) return desired
  return { ...desired, metadata: { ...desired.metadata, annotations: { [traceparentAnnotation]: value } } }
}

/** Returns the canonical spec of a world's row. */
export const desiredSpec = (row: PushedWorld): WorldSpec => {
  const settings = serverSettings.parse(row)
  const granted = grantOf(row)
  return worldSpecSchema.parse({
    displayName: row.name,
    description: row.description ?? '',
    state: row.state,
    ...(row.runId === null || row.startedAt === null
      ? {}
      : { runId: row.runId, startedAt: row.startedAt.toISOString() }),
    revision: row.revision,
    transient: row.transient,
    ...withDefined({
      durationMinutes: row.runtime.durationMinutes,
      idleStopMinutes: row.runtime.idleStopMinutes,
      wakeOnAccess: row.runtime.wakeOnAccess,
      schedule: row.runtime.schedule,
      nextAction: row.nextAction ?? undefined,
    }),
    scaling: { profile: row.networking.scaling.profile },
    ...settings,
    runtime: { ...programOf(row), ...settings.runtime, capacity: row.admission.capacity },
    metadata: row.metadata,
    ...withDefined({ granted }),
  })
}

/** Returns the run that a running world's resource may execute. A resource whose uid is not on record gets none. */
const grantOf = (row: PushedWorld): GrantedRun | undefined => {
  const { state, granted, runId, resourceUid: uid, organizationId, projectId, id: worldId } = row
  if (state !== 'Running' || granted === null || granted.id !== runId || uid === null) return undefined
  return { ...granted, uid, organizationId, projectId, worldId }
}

/** Returns the canonical spec of a bot deployment's row. It grants the row's bots to the resource, once its uid is known. */
export const desiredBotSpec = (row: BotRow): BotDeploymentSpec => {
  const { organizationId, projectId, worldId, resourceUid: uid, count, cpu, memory, args } = row
  return botDeploymentSpecSchema.parse({
    worldName: row.worldName,
    description: row.description,
    count,
    cpu,
    memory,
    args,
    ...(row.durationMinutes === null ? {} : { durationMinutes: row.durationMinutes }),
    revision: row.revision,
    metadata: row.metadata,
    ...(uid === null
      ? {}
      : { granted: { uid, organizationId, projectId, worldId, botDeploymentId: row.id, count, cpu, memory, args } }),
  })
}
