import type { ResolvedBuild } from '#api/domain/builds/schema.ts'
import { presentConditions } from '#api/domain/events/conditions.ts'
import { optional } from '#api/platform/http/fields.ts'
import type { Verb } from '#shared/domain/permissions.ts'
import { publicPorts } from '#shared/domain/ports.ts'
import { plainSettings, runtimeSettings } from '#shared/domain/world.ts'
import { without } from '#shared/optional.ts'
import type { DeploymentAnswer } from './runs/schema.ts'
import type { PublicWorldAnswer, WorldAnswer } from './schema.ts'
import { pendingEditsMessage } from './settings.ts'
import type { DeploymentRow, LaunchContextRow, ShownWorld, StatusWorld, WorldRow } from './table.ts'
import { showWaker } from './waker.ts'

/** The settings that rows of older versions lack. */
const runtimeDefaults = runtimeSettings.parse({})

type PublicRow = Omit<ShownWorld, 'manifest'>

/** Returns a world as it appears in responses, with its launch context and the last reported queue. */
export const presentWorld = (row: ShownWorld, context: LaunchContextRow, verb: Verb): WorldAnswer => ({
  ...presentCommon(row, context, verb),
  manifest: row.manifest,
})

const presentCommon = (row: PublicRow, context: LaunchContextRow, verb: Verb): Omit<WorldAnswer, 'manifest'> => ({
  documentId: row.id,
  organizationId: row.organizationId,
  projectId: row.projectId,
  name: row.name,
  description: row.description ?? '',
  ...optional('pictureUrl', row.pictureUrl),
  transient: row.transient,
  metadata: row.metadata,
  compute: row.compute,
  networking: row.networking,
  runtime: { ...runtimeDefaults, ...row.runtime },
  ...plainSettings.parse(row),
  admission: row.admission,
  sessions: row.sessions,
  status: presentStatus(row),
  launchContext: presentLaunchContext(context, verb),
  queueState: presentQueue(row),
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
})

/** Returns the players of a world as they appear in responses, with what its server reports beside them. */
export const presentQueue = ({
  queueQueued,
  queueActive,
  queueReported,
}: Pick<WorldRow, 'queueQueued' | 'queueActive' | 'queueReported'>): WorldAnswer['queueState'] => ({
  queued: queueQueued ?? 0,
  active: queueActive ?? 0,
  ...queueReported,
})

// Their messages name the port and the protocol of the query.
const privateConditions: readonly string[] = ['Responding', 'Idle']

/**
 * Returns a public world without what only its organization may read: manifest, internal ports, the query, the sleep, the schedule and
 * their conditions, and streaming authorization.
 */
export const presentPublicWorld = (row: PublicRow, context: LaunchContextRow, verb: Verb): PublicWorldAnswer => {
  const shown = presentCommon(row, context, verb)
  const status = without(shown.status, ['idle', 'nextAction'])
  const world = {
    ...shown,
    networking: { ...shown.networking, ports: publicPorts(shown.networking.ports) },
    runtime: without(shown.runtime, ['query', 'idleStopMinutes', 'wakeOnAccess', 'schedule']),
    status: { ...status, conditions: status.conditions.filter(({ type }) => !privateConditions.includes(type)) },
  }
  const { providerAStreaming, ...launchContext } = world.launchContext
  if (providerAStreaming === undefined) return { ...world, launchContext }
  const streaming = without(providerAStreaming, ['authorizationId'])
  return { ...world, launchContext: { ...launchContext, providerAStreaming: streaming } }
}

/** Returns the status of a world as it appears in REST and realtime. Pending edits are part of the message. */
export const presentStatus = (
  row: Omit<StatusWorld, 'restarts' | 'followedVersion' | 'deletingAt'>,
): WorldAnswer['status'] => {
  // The operator knows only that a start waits, not what for.
  const messages = [row.waitsFor ?? row.statusMessage, pendingEditsMessage(row)].filter((each) => each !== '')
  const build = row.resolvedBuild
  return {
    phase: row.phase,
    message: messages.join(' '),
    ...optional('startedAt', row.startedAt?.toISOString()),
    ...optional('resolvedBuild', build && toResolvedBuild(build)),
    ...optional('runId', row.runId),
    ...presentAddress(row),
    ...optional('idle', row.idle),
    ...optional('nextAction', row.nextAction),
    conditions: presentConditions(row.conditions),
  }
}

/** Returns where players connect, if a server can be reached. The first address stands alone too. */
export const presentAddress = ({
  address,
}: Pick<WorldRow, 'address'>): Pick<WorldAnswer['status'], 'address' | 'addresses' | 'strategy'> => {
  if (address === null) return {}
  const { addresses, strategy } = address
  const [first] = addresses
  return { ...optional('address', first && { host: first.host, port: first.port }), addresses, strategy }
}

const toResolvedBuild = ({ channelId, tag, organizationId, id }: ResolvedBuild): ResolvedBuild => ({
  channelId,
  tag,
  organizationId,
  id,
})

const presentLaunchContext = (row: LaunchContextRow, verb: Verb): WorldAnswer['launchContext'] => ({
  launchContextId: row.id,
  worldId: row.worldId,
  organizationId: row.organizationId,
  projectId: row.projectId,
  name: row.name,
  description: row.description ?? '',
  splashScreenUrl: '',
  ...optional('pictureUrl', row.pictureUrl),
  isActive: row.isActive,
  isPublic: row.isPublic,
  isWorldTravelOnly: row.isWorldTravelOnly,
  useWorldSessions: row.useWorldSessions,
  permissionVerb: verb,
  ...row.details,
})

/** Returns the URL of a world's live configuration. */
export const liveConfigUrl = (publicUrl: string, worldId: string): string =>
  new URL(`/api/documents/liveConfig/World:${worldId}/`, publicUrl).href

/** Returns the record of a run as it appears in responses. */
export const presentDeployment = (row: DeploymentRow, publicUrl: string): DeploymentAnswer => ({
  id: row.id,
  externalId: row.externalId,
  organizationId: row.organizationId,
  projectId: row.projectId,
  worldId: row.worldId,
  runId: row.runId,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
  ...optional('startedAt', row.startedAt?.toISOString()),
  ...optional('readyAt', row.readyAt?.toISOString()),
  ...optional('endedAt', row.endedAt?.toISOString()),
  ...optional('endReason', row.endReason),
  ...optional('wokenBy', row.wokenBy && showWaker(row.wokenBy, row.organizationId)),
  ...optional('exitCode', row.exitCode),
  ...optional('image', row.image),
  restarts: row.restarts,
  status: row.status,
  networking: row.networking,
  compute: row.compute,
  runtime: { ...row.runtime, liveConfigUrl: liveConfigUrl(publicUrl, row.worldId) },
})
