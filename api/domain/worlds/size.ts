import type { Limits } from '#api/domain/access/limits.ts'
import { Problem } from '#api/platform/http/problem.ts'
import { type ScalingProfileName, scalingProfiles } from '#shared/scalingProfiles.ts'

/** Above this capacity a world needs the claim largeWorlds. */
const largestWithoutClaim = 1_000

/** Throws a 403 where a caller may not have a world of this size in this organization. */
export const refuseSize = (
  { profile, capacity }: { profile: ScalingProfileName; capacity: number },
  { limits, claims }: { limits: Pick<Limits, 'maxWorldCapacity'>; claims: readonly string[] },
): void => {
  const most = scalingProfiles[profile].capacity
  const fault =
    most > limits.maxWorldCapacity
      ? `${profile} is above the organization's maxWorldCapacity of ${limits.maxWorldCapacity}`
      : most > largestWithoutClaim && !claims.includes('largeWorlds')
        ? `${profile} needs the claim largeWorlds, as all above Capacity${largestWithoutClaim} do`
        : capacity > most
          ? `a capacity of ${capacity} needs a larger scaling profile than ${profile}`
          : undefined
  if (fault !== undefined) throw new Problem('size_not_allowed', `This is not allowed: ${fault}.`)
}
