import type { Verb } from '#api/domain/access/permissions.ts'
import { optional } from '#api/platform/http/fields.ts'
import type { DeploymentAnswer, PublicWorldAnswer, WorldAnswer } from './schema.ts'
import { waitingEdits } from './settings.ts'
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
  status: presentStatus(row),
  launchContext: presentLaunchContext(context, verb),
  queueState: { queued: row.queueQueued, active: row.queueActive },
})

/** A public world as strangers see it. */
export const presentPublicWorld = (row: WorldRow, context: LaunchContextRow, verb: Verb): PublicWorldAnswer => {
  const { manifest: _, ...world } = presentWorld(row, context, verb)
  const { providerAStreaming, ...shown } = world.launchContext
  if (providerAStreaming === undefined) return { ...world, launchContext: shown }
  const { authorizationId: __, ...streaming } = providerAStreaming
  return { ...world, launchContext: { ...shown, providerAStreaming: streaming } }
}

/** The status of a world as REST and realtime show it. */
export const presentStatus = (row: WorldRow): WorldAnswer['status'] => {
  const messages = [row.statusMessage, waitingEdits(row)].filter((each) => each !== '')
  const build = row.resolvedBuild
  return {
    phase: row.phase,
    message: messages.join(' '),
    ...optional('startedAt', row.startedAt?.toISOString()),
    ...(build === null
      ? {}
      : {
          resolvedBuild: {
            channelId: build.channelId,
            tag: build.tag,
            organizationId: build.organizationId,
            id: build.id,
          },
        }),
    ...optional('runId', row.runId),
  }
}

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

/** Where a world's live configuration is read. */
export const liveConfigUrl = (publicUrl: string, worldId: string): string =>
  new URL(`/api/documents/liveConfig/World:${worldId}/`, publicUrl).href

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
  runtime: { ...row.runtime, liveConfigUrl: liveConfigUrl(publicUrl, row.worldId) },
})
