import type { Limits } from '#api/domain/access/limits.ts'
import { explainSize } from '#api/domain/worlds/size.ts'
import { isDatabaseUnavailable, Problem } from '#api/platform/http/problem.ts'
import { toNumber } from '#shared/quantities.ts'
import type { ScalingProfile, ScalingProfileName, ScalingProfiles } from '#shared/scalingProfiles.ts'
import type { WhyFacts } from '#shared/why/why.ts'

type Chosen = { readonly run: string; readonly world: ScalingProfileName }
type Allowed = { readonly limits: Pick<Limits, 'maxWorldCapacity'>; readonly claims: readonly string[] }

/**
 * Returns the profile of a world if it has more memory than that of its run, or else the smallest with more memory that is allowed. Null
 * if none is, undefined if the platform does not have that of the run.
 */
export const findLargerProfile = (
  profiles: ScalingProfiles,
  { run, world }: Chosen,
  allowed: Allowed,
): WhyFacts['largerProfile'] => {
  const memoryOf = ({ memoryLimit }: ScalingProfile): number => toNumber(memoryLimit)
  const own = Object.values(profiles).find(({ name }) => name === run)
  if (own === undefined) return undefined
  const isLarger = (each: ScalingProfile): boolean => memoryOf(each) > memoryOf(own)
  const chosen = profiles[world]
  if (isLarger(chosen)) return { ...chosen, isChosen: true }
  const [next] = Object.values(profiles)
    .filter((each) => isLarger(each) && explainSize({ profile: each.name, capacity: 0 }, allowed) === undefined)
    .sort((a, b) => memoryOf(a) - memoryOf(b))
  return next === undefined ? null : { ...next, isChosen: false }
}

/** Returns what was read, or undefined if the read was refused or took too long. */
export const unlessRefused = async <T>(read: Promise<T>): Promise<T | undefined> => {
  try {
    return await read
  } catch (error) {
    if (error instanceof Problem || isDatabaseUnavailable(error)) return undefined
    throw error
  }
}
