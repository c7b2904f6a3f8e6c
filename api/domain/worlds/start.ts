import type { Limits } from '#api/domain/access/limits.ts'
import { explainImage } from '#api/domain/builds/image.ts'
import { explainRunLimit, type RunUse, useOfRun } from '#shared/domain/runUse.ts'
import { plainSettings, runtimeSettings, serverSettings } from '#shared/domain/world.ts'
import { withDefined } from '#shared/optional.ts'
import type { CapturedRun } from '#shared/resources/world.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'
import { explainSize } from './size.ts'
import type { Program, WorldRow } from './table.ts'

type Programmed = Pick<WorldRow, 'program' | 'resolvedBuild' | 'runtime'>

/** Returns the program of the build. Without a build over REST, returns the program that kubectl set. */
export const programOf = ({ program, resolvedBuild, runtime }: Programmed): Program => {
  const args = program.args ?? []
  if (resolvedBuild !== null) {
    const { image, contentId, probes } = resolvedBuild
    return { image, contentId, probes, args }
  }
  return runtime.build === undefined ? { ...program, args } : { args }
}

type Captured = Programmed & Pick<WorldRow, 'networking' | 'compute' | 'admission'>

/** Returns the run that a row with this build starts now. Later changes of the row act at the next start. */
export const captureRun = (row: Captured, { runId, startedAt }: { runId: string; startedAt: Date }): CapturedRun => {
  const { image, contentId, probes = true, args = [] } = programOf(row)
  const { compute, networking, runtime } = serverSettings.parse(row)
  return {
    id: runId,
    startedAt: startedAt.toISOString(),
    ...withDefined({ image, contentId }),
    profile: row.networking.scaling.profile,
    ...runtimeSettings.parse(runtime),
    ...plainSettings.parse(row),
    capacity: row.admission.capacity,
    probes,
    args,
    strategy: networking.strategy,
    compute,
  }
}

type Requested = Pick<CapturedRun, 'profile' | 'strategy'>

/** The reason for which a start is not allowed. */
export type StartRefusal = { readonly code: 'image_not_allowed' | 'size_not_allowed'; readonly message: string }

/**
 * Returns why the limits of the organization do not allow a run by itself, or undefined if they do. The platform's default image
 * has no name here and is always allowed.
 */
export const explainStart = (
  { image, profile }: Pick<CapturedRun, 'image' | 'profile'>,
  limits: Pick<Limits, 'imageRegistries' | 'maxWorldCapacity'>,
): StartRefusal | undefined => {
  const forbidden = image === undefined ? undefined : explainImage(image, limits)
  if (forbidden !== undefined) return { code: 'image_not_allowed', message: forbidden }
  // A profile above maxWorldCapacity needed the claim when it was chosen, and does not need it again.
  const { capacity } = scalingProfiles[profile]
  const tooLarge = explainSize({ profile, capacity }, { limits, claims: ['largeWorlds'] })
  return tooLarge === undefined ? undefined : { code: 'size_not_allowed', message: tooLarge }
}

/** Returns why there is no room for a run beside the others of the organization, or undefined if there is. */
export const explainNoRoom = (
  { profile, strategy }: Requested,
  others: RunUse,
  limits: Parameters<typeof explainRunLimit>[2],
): string | undefined => explainRunLimit(useOfRun(scalingProfiles[profile].capacity, strategy), others, limits)?.message

/** Returns the sentence about the rate of the starts of a world. */
export const explainRate = (perMinute: number): string => `The rate limit is ${perMinute} starts per minute and world.`

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
