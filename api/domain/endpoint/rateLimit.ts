import type { Context } from '#api/domain/access/context.ts'
import type { Principal } from '#api/platform/auth/principal.ts'
import type { AnswerHeaders } from '#api/platform/http/answer.ts'
import { Problem } from '#api/platform/http/problem.ts'
import type { Clock } from '#shared/clock.ts'

/** What one key, and the starts and stops of one world, may use; the limits are each replica's own. */
export type RateLimitOptions = {
  readonly requestsPerSecond: number
  readonly burst: number
  readonly startsPerMinute: number
  /** Of one client address. */
  readonly failedCredentialsPerMinute: number
}

type Scoped = Pick<Context, 'principal' | 'organizationId' | 'projectId'>
type Bucket = { tokens: number; atMs: number }
/** Buckets that are full again are forgotten first; this many are remembered. */
const maxBuckets = 50_000
/** An organization may use so many seconds of its share at once: all its clients reconnect after a restart. */
const shareSeconds = 10

type Rate = { readonly perSecond: number; readonly burst: number }

/** Token buckets (in memory; a restart refills them). */
const createBuckets = (clock: Clock) => {
  const buckets = new Map<string, Bucket>()
  return {
    /** Takes one token; what is left, and in how many seconds one or all will be there. */
    take: (
      name: string,
      { perSecond, burst }: Rate,
    ): { taken: boolean; left: number; oneInSeconds: number; fullInSeconds: number } => {
      const nowMs = clock.monotonic()
      const { tokens, atMs } = buckets.get(name) ?? { tokens: burst, atMs: nowMs }
      const present = Math.min(burst, tokens + ((nowMs - atMs) / 1000) * perSecond)
      const taken = present >= 1
      const left = taken ? present - 1 : present
      // The one that was used last stands last, so that the first to go is the one that was idle longest.
      buckets.delete(name)
      if (buckets.size >= maxBuckets) buckets.delete(buckets.keys().next().value ?? '')
      buckets.set(name, { tokens: left, atMs: nowMs })
      return { taken, left, oneInSeconds: (1 - left) / perSecond, fullInSeconds: (burst - left) / perSecond }
    },
  }
}

/** Returns a function that counts a request against its organization and throws a 429 for one too many. */
const createShares = (clock: Clock, requestsPerSecondOf: (organizationId: string) => number) => {
  const shares = createBuckets(clock)
  return (organizationId: string, headers: AnswerHeaders): void => {
    const perSecond = requestsPerSecondOf(organizationId)
    if (perSecond === Number.POSITIVE_INFINITY) return
    const { taken, oneInSeconds } = shares.take(organizationId, { perSecond, burst: perSecond * shareSeconds })
    if (taken) return
    throw tooMany(`${perSecond} requests a second for the organization (maxRequestsPerSecond)`, oneInSeconds, headers)
  }
}

/** The rate limits of a replica. */
export type RateLimits = ReturnType<typeof createRateLimits>

/**
 * Limits requests by credential and by its organization, and starts and stops by world. The platform key has no limits.
 * The headers are those of the IETF's draft "RateLimit header fields for HTTP" (draft-ietf-httpapi-ratelimit-headers-07).
 */
export const createRateLimits = (
  clock: Clock,
  options: RateLimitOptions,
  requestsPerSecondOf: (organizationId: string) => number = () => Number.POSITIVE_INFINITY,
) => {
  const requests = createBuckets(clock)
  const starts = createBuckets(clock)
  const requestRate = { perSecond: options.requestsPerSecond, burst: options.burst }
  const startRate = { perSecond: options.startsPerMinute / 60, burst: options.startsPerMinute }
  const failures = createBuckets(clock)
  const perMinute = options.failedCredentialsPerMinute
  const failureRate = { perSecond: perMinute / 60, burst: perMinute }
  const takeShare = createShares(clock, requestsPerSecondOf)
  const policy = `${options.burst};w=${Math.ceil(options.burst / options.requestsPerSecond)}`
  return {
    /** Counts a request; the headers that its answer bears. Throws a 429 for one too many. */
    take: (principal: Principal): AnswerHeaders => {
      if (principal.kind === 'platform') return {}
      const { taken, left, oneInSeconds, fullInSeconds } = requests.take(principal.bucket, requestRate)
      const headers = {
        'ratelimit-limit': String(options.burst),
        'ratelimit-remaining': String(Math.floor(left)),
        'ratelimit-reset': String(Math.ceil(fullInSeconds)),
        'ratelimit-policy': policy,
      }
      if (!taken) {
        const rate = `${options.requestsPerSecond} requests a second, ${options.burst} at once`
        throw tooMany(rate, oneInSeconds, headers)
      }
      // What exceeds a credential's own limit does not count against the others of its organization.
      if (principal.homeTenantId !== undefined) takeShare(principal.homeTenantId, headers)
      return headers
    },
    /** Counts a credential that is missing or not valid, by the address that it came from. */
    takeForFailure: (address: string): void => {
      const { taken, oneInSeconds } = failures.take(address, failureRate)
      if (!taken) throw tooMany(`${perMinute} failed credentials a minute from an address`, oneInSeconds, {})
    },
    /**
     * Counts a start or a stop of a world, beneath the ids that the headers name: nobody has looked yet whether the
     * world is there, and who names it from another scope must not use up what its owner may do.
     */
    takeForWorld: ({ principal, organizationId, projectId }: Scoped, worldId: string): void => {
      if (principal.kind === 'platform') return
      const { taken, oneInSeconds } = starts.take(`${organizationId}/${projectId}/${worldId}`, startRate)
      if (!taken) throw tooMany(`${options.startsPerMinute} starts and stops a minute a world`, oneInSeconds, {})
    },
  }
}

const tooMany = (what: string, inSeconds: number, headers: AnswerHeaders): Problem =>
  new Problem('rate_limited', `The limit is ${what}.`, {
    headers: { ...headers, 'retry-after': String(Math.max(1, Math.ceil(inSeconds))) },
  })
