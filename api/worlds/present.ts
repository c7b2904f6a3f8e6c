import type { Verb } from '#api/auth/permissions.ts'
import type { DeploymentAnswer, WorldAnswer } from './schema.ts'
import type { DeploymentRow, LaunchContextRow, WorldRow } from './table.ts'

/** A world as answers show it, with its launch context and what its queue last was. */
export const presentWorld = (row: WorldRow, context: LaunchContextRow, verb: Verb): WorldAnswer => ({
  documentId: row.id,
  organizationId: row.organizationId,
  projectId: row.projectId,
  name: row.name,
  ...optional('description', row.description),
  ...optional('pictureUrl', row.pictureUrl),
  transient: row.transient,
  metadata: row.metadata,
  compute: row.compute,
  networking: row.networking,
  runtime: row.runtime,
  manifest: row.manifest,
  admission: row.admission,
  sessions: row.sessions,
  status: {
    phase: row.phase,
    message: row.statusMessage,
    ...optional('startedAt', row.startedAt?.toISOString() ?? null),
    ...optional('resolvedBuild', row.resolvedBuild),
    ...optional('runId', row.runId),
  },
  launchContext: presentLaunchContext(context, verb),
  queueState: { queued: row.queueQueued, active: row.queueActive },
})

const presentLaunchContext = (row: LaunchContextRow, verb: Verb): WorldAnswer['launchContext'] => ({
  launchContextId: row.id,
  worldId: row.worldId,
  organizationId: row.organizationId,
  projectId: row.projectId,
  name: row.name,
  ...optional('description', row.description),
  ...optional('pictureUrl', row.pictureUrl),
  isActive: row.isActive,
  isPublic: row.isPublic,
  isWorldTravelOnly: row.isWorldTravelOnly,
  useWorldSessions: row.useWorldSessions,
  permissionVerb: verb,
  ...row.details,
})

/** One run of a world, as the history shows it. */
export const presentDeployment = (row: DeploymentRow, publicUrl: string): DeploymentAnswer => ({
  id: row.id,
  externalId: row.externalId,
  organizationId: row.organizationId,
  projectId: row.projectId,
  worldId: row.worldId,
  runId: row.runId,
  createdAt: row.createdAt.toISOString(),
  status: row.status,
  networking: row.networking,
  compute: row.compute,
  runtime: {
    ...row.runtime,
    liveConfigUrl: new URL(`/api/documents/liveConfig/World:${row.worldId}/`, publicUrl).href,
  },
})

/** The tag of a world's present state: what is wanted, then what is observed. */
export const entityTag = (row: Pick<WorldRow, 'revision' | 'statusVersion'>): string =>
  `"${row.revision}.${row.statusVersion}"`

const optional = <K extends string, V>(key: K, value: V | null): { [P in K]?: V } =>
  (value === null ? {} : { [key]: value }) as { [P in K]?: V }
