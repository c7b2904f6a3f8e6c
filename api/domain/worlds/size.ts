import type { Limits } from '#api/domain/access/limits.ts'
import { Problem } from '#api/platform/http/problem.ts'
import { botBytes, botMillicores } from '#shared/domain/bots.ts'
import type { WorldBots } from '#shared/domain/botUse.ts'
import { type ScalingProfile, type ScalingProfileName, scalingProfiles } from '#shared/scalingProfiles.ts'

/** The largest profile that needs no claim. */
const maxCapacityWithoutClaim = 1_000

/**
 * Throws a 403 if the organization's limit, the caller's claims or the profile's capacity do not allow the size of a
 * world.
 */
export const checkWorldSize = (...args: Parameters<typeof explainSize>): void => {
  const refusal = explainSize(...args)
  if (refusal !== undefined) throw new Problem('size_not_allowed', refusal)
}

/** Returns why the size of a world is not allowed and what to do, or undefined if it is allowed. */
export const explainSize = (
  { profile, capacity }: { profile: ScalingProfileName; capacity: number },
  { limits, claims }: { limits: Pick<Limits, 'maxWorldCapacity'>; claims: readonly string[] },
): string | undefined => {
  const largest = scalingProfiles[profile].capacity
  if (largest > limits.maxWorldCapacity) {
    return (
      `${profile} is larger than maxWorldCapacity of the organization, which is ${limits.maxWorldCapacity}. ` +
      'Choose a smaller scaling profile.'
    )
  }
  if (largest > maxCapacityWithoutClaim && !claims.includes('largeWorlds')) {
    return (
      `${profile} requires the claim largeWorlds, as every profile above Capacity${maxCapacityWithoutClaim} does. ` +
      'Choose a smaller scaling profile or use a key with the claim.'
    )
  }
  if (capacity > largest) {
    return (
      `The capacity ${capacity} exceeds that of ${profile}, which is ${largest}. ` +
      'Lower it or choose a larger scaling profile.'
    )
  }
  return undefined
}

/**
 * Returns why the bots of a world do not fit into the scaling profile `next`, or undefined if they do. Only quantities that
 * are smaller than in the profile `before` count, so that a world whose bots exceed its profile can get a larger one.
 */
export const explainProfileForBots = (
  before: ScalingProfile,
  next: ScalingProfile,
  { live, largest }: WorldBots,
): string | undefined => {
  if (next.capacity < before.capacity && live > next.capacity) {
    return `The world has ${live} bots, and ${next.name} allows ${next.capacity}. Remove bots first.`
  }
  const [millicores, bytes] = [cpuOf(next), memoryOf(next)]
  if (millicores < cpuOf(before) && largest.millicores > millicores) {
    return `A bot of the world has a cpu of ${largest.millicores}m, and ${next.name} allows ${next.cpuLimit}. Lower the cpu of the bots first.`
  }
  if (bytes < memoryOf(before) && largest.bytes > bytes) {
    return `A bot of the world has ${largest.bytes} bytes of memory, and ${next.name} allows ${next.memoryLimit}. Lower the memory of the bots first.`
  }
  return undefined
}

const cpuOf = ({ cpuLimit }: ScalingProfile): number => botMillicores({ cpu: cpuLimit })
const memoryOf = ({ memoryLimit }: ScalingProfile): number => botBytes({ memory: memoryLimit })
