import type { World } from '#client/operations.ts'
import type { FeedWorld } from '#client/realtime/resource.ts'
import { findTrouble } from '#shared/why/cause.ts'

export type Phase = World['status']['phase']
export type Condition = World['status']['conditions'][number]

/** A world in the table of the fleet. Times are milliseconds since 1970. */
export type Row = {
  readonly id: string
  readonly projectId: string
  readonly version: string
  readonly name: string
  readonly phase: Phase
  readonly message: string
  /** The reason why the world needs attention or waits. Empty for a world without a problem. */
  readonly reason: string
  /** Time when the condition with this reason last changed or, if that is later, the run was requested. 0 without a reason. */
  readonly reasonSinceMs: number
  readonly profile: string
  readonly group: string
  readonly region: string
  readonly mapName: string
  /** `channel:tag` of the build of the run. Empty for the default image. */
  readonly build: string
  /** The URL or `host:port` at which players connect. Empty while no server can be reached. */
  readonly address: string
  readonly capacity: number
  /** The players in the world. Undefined while its server does not report them. */
  readonly players: number | undefined
  /** The players who wait to enter. */
  readonly queued: number
  /** The version and the map that the server reports. */
  readonly reportedVersion?: string | undefined
  readonly reportedMap?: string | undefined
  /** The failures of the server of the present run since it was last ready for ten minutes. */
  readonly restarts: number
  /** 0 if it is unknown. */
  readonly createdAtMs: number
  /** Time when the present run was requested, or 0 without a run. */
  readonly startedAtMs: number
  /** Time since which players can enter, or 0 while they cannot. A server that was replaced within a run became ready again. */
  readonly readySinceMs: number
  readonly labels: Readonly<Record<string, string>>
}

/** Returns the row of a world in the feed. That of the previous version of the API lacks the members below the name. */
export const toRow = (world: FeedWorld): Row => {
  const { status } = world
  const trouble = findTrouble(status.conditions)
  const startedAtMs = Date.parse(status.startedAt ?? '') || 0
  return {
    id: world.worldId,
    projectId: world.projectId,
    version: world.version,
    name: world.name,
    phase: status.phase,
    message: status.message,
    reason: trouble?.reason ?? '',
    reasonSinceMs: trouble === undefined ? 0 : Math.max(Date.parse(trouble.lastTransitionAt), startedAtMs),
    profile: world.profile ?? '',
    group: world.group ?? '',
    region: world.region ?? '',
    mapName: world.mapName ?? '',
    build: status.resolvedBuild === undefined ? '' : `${status.resolvedBuild.channelId}:${status.resolvedBuild.tag}`,
    address: addressOf(status),
    capacity: world.capacity ?? 0,
    players: world.players,
    queued: world.queued ?? 0,
    reportedVersion: world.reportedVersion,
    reportedMap: world.reportedMap,
    restarts: world.restarts ?? 0,
    createdAtMs: Date.parse(world.createdAt) || 0,
    startedAtMs,
    readySinceMs: Date.parse(readySince(status) ?? '') || 0,
    labels: world.labels ?? {},
  }
}

const readySince = ({ conditions }: World['status']): string | undefined =>
  conditions.find(({ type, status }) => type === 'Ready' && status === 'True')?.lastTransitionAt

/** Returns where players connect: the WebSocket URL if there is one, else `host:port`. */
export const addressOf = ({ addresses = [], address }: World['status']): string => {
  const url = addresses.find((each) => each.url !== undefined)?.url
  return url ?? (address === undefined ? '' : `${address.host}:${address.port}`)
}
