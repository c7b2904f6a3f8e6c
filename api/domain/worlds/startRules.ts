import type { Limits } from '#api/domain/access/limits.ts'
import { explainImage } from '#api/domain/builds/image.ts'
import type { Principal } from '#api/platform/auth/principal.ts'
import { Problem } from '#api/platform/http/problem.ts'
import { type IdleSettings, idleRule } from '#shared/domain/idle.ts'
import { explainRunLimit, type RunLimits, type RunUse, useOfRun } from '#shared/domain/runUse.ts'
import type { CapturedRun } from '#shared/resources/world.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'
import { explainStrategy } from './networking.ts'
import { explainSize } from './size.ts'

/** The facts that decide about a start in addition to the world, read under the locks of the world and of its organization. */
export type StartFacts = {
  readonly limits: Pick<Limits, 'maxWorldCapacity' | 'imageRegistries' | 'hostPorts'> & RunLimits
  /** The use of the organization's other running worlds. */
  readonly others: RunUse
  readonly startsPerMinute: number
  /** The milliseconds until the world may start again. */
  readonly startDelayMs: number
  /** True if the platform has a Gateway for worlds with the strategy Route. */
  readonly offersRoutes: boolean
}

/** The reason for which a start is not allowed. */
type StartRefusal = {
  readonly code: 'image_not_allowed' | 'size_not_allowed' | 'host_port_not_allowed' | 'sleep_unsupported' | 'conflict'
  readonly message: string
}

type StartingRun = Pick<CapturedRun, 'image' | 'profile' | 'strategy' | 'probes' | 'query'> &
  Pick<IdleSettings, 'idleStopMinutes'>

const hostPortRefusal =
  'The limit hostPorts of the organization does not allow the networking strategy HostPort. Choose another one, or ask the platform operator.'

/**
 * Returns why the platform or the limits of the organization do not allow a run by itself, or undefined if they do. The platform's
 * default image has no name here and is always allowed.
 */
export const explainStart = (
  run: StartingRun,
  { limits, offersRoutes }: Pick<StartFacts, 'limits' | 'offersRoutes'>,
): StartRefusal | undefined => {
  const { image, profile, strategy } = run
  const forbidden = image === undefined ? undefined : explainImage(image, limits)
  if (forbidden !== undefined) return { code: 'image_not_allowed', message: forbidden }
  if (strategy === 'HostPort' && !limits.hostPorts) return { code: 'host_port_not_allowed', message: hostPortRefusal }
  if (!idleRule.isKept(run)) return { code: 'sleep_unsupported', message: `${idleRule.message}.` }
  // A profile above Capacity1000 needed the claim when it was chosen, and does not need it again.
  const { capacity } = scalingProfiles[profile]
  const tooLarge = explainSize({ profile, capacity }, { limits, claims: ['largeWorlds'] })
  if (tooLarge !== undefined) return { code: 'size_not_allowed', message: tooLarge }
  const notOffered = explainStrategy(strategy, offersRoutes)
  return notOffered === undefined ? undefined : { code: 'conflict', message: notOffered }
}

type Requested = Pick<CapturedRun, 'profile' | 'strategy' | 'ports'>

/** Returns why the organization has no room for one more run, or undefined if it has. */
export const explainNoRoom = (
  { profile, strategy, ports }: Requested,
  others: RunUse,
  limits: RunLimits,
): string | undefined =>
  explainRunLimit(useOfRun({ capacity: scalingProfiles[profile].capacity, strategy, ports }), others, limits)

const explainRate = (perMinute: number): string => `The rate limit is ${perMinute} starts per minute and world.`

/**
 * Throws for a start over REST: a 429 above the rate, a 403 for an image, a size or host ports that are not allowed, a 409 for a strategy
 * that the platform does not offer, or without room, a 422 for idleStopMinutes with a server that does not say its players.
 */
export const checkStart = (
  run: CapturedRun & StartingRun,
  facts: StartFacts,
  principal: Pick<Principal, 'kind'>,
): void => {
  const { limits, others, startsPerMinute, startDelayMs: delayMs } = facts
  if (delayMs > 0 && principal.kind !== 'platform') {
    const seconds = String(Math.ceil(delayMs / 1_000))
    const detail = `${explainRate(startsPerMinute)} Retry in ${seconds} s.`
    throw new Problem('rate_limited', detail, { headers: { 'retry-after': seconds } })
  }
  const refusal = explainStart(run, facts)
  if (refusal !== undefined) throw new Problem(refusal.code, refusal.message)
  const noRoom = explainNoRoom(run, others, limits)
  if (noRoom !== undefined) throw new Problem('limit_reached', noRoom)
}

/** The reason for which a start waits, as a sentence, and the time until it can be tried again, if that is known. */
export type Wait = { readonly message: string; readonly delayMs?: number }

/** Returns what a start with kubectl waits for, or undefined if it may begin. */
export const explainWait = (
  run: Requested,
  { limits, others, startsPerMinute, startDelayMs: delayMs }: StartFacts,
): Wait | undefined => {
  const again = 'The start is tried again.'
  if (delayMs > 0) return { message: `${explainRate(startsPerMinute)} ${again}`, delayMs }
  const noRoom = explainNoRoom(run, others, limits)
  return noRoom === undefined ? undefined : { message: `${noRoom} ${again}` }
}

/** The longest time that the tokens of a world's starts are counted back over. */
export const startWindowMs = 120_000

/**
 * Returns the milliseconds until a world may start again, or 0 if it may now. A world has a bucket of `perMinute` tokens that
 * refills in a minute. The recorded starts of the last `startWindowMs`, oldest first, took one token each.
 */
export const startDelayMs = (startedAtMs: readonly number[], perMinute: number, nowMs: number): number => {
  const perMs = perMinute / 60_000
  let tokens = perMinute
  let atMs = startedAtMs[0] ?? nowMs
  for (const startMs of startedAtMs) {
    tokens = Math.min(perMinute, tokens + (startMs - atMs) * perMs) - 1
    atMs = startMs
  }
  tokens = Math.min(perMinute, tokens + (nowMs - atMs) * perMs)
  return tokens >= 1 ? 0 : Math.ceil((1 - tokens) / perMs)
}
