import type { Context } from '#api/domain/access/context.ts'
import type { Limits } from '#api/domain/access/limits.ts'
import type { Principal } from '#api/platform/auth/principal.ts'
import type { AnswerHeaders } from '#api/platform/http/answer.ts'
import { maxJsonBytes } from '#api/platform/http/body.ts'
import { addressBlock } from '#api/platform/http/clientAddress.ts'
import { Problem } from '#api/platform/http/problem.ts'
import type { Clock } from '#shared/clock.ts'

/** The rates that one replica allows. Other replicas count for themselves. */
export type RateLimitOptions = {
  /** Per credential, as is `burst`. */
  readonly requestsPerSecond: number
  readonly burst: number
  /** The starts and stops per world. */
  readonly startsPerMinute: number
  /** Per client address. */
  readonly failedCredentialsPerMinute: number
}

type Scoped = Pick<Context, 'principal' | 'organizationId' | 'projectId'>
type ByOrganization = Pick<Scoped, 'principal' | 'organizationId'>
type Bucket = { tokens: number; atMs: number }

/** The maximum number of buckets. The bucket that was unused longest is dropped first. */
const maxBuckets = 50_000

/** The burst of an organization, in seconds of its rate. All its clients reconnect at once after a restart. */
const shareSeconds = 10

/** The burst of written document bytes, in seconds of their rate. It allows an import, and many saves at the same time. */
const documentSeconds = 60

/** The requests to one issuer, and those of one client address. Renewals have their own, so that open sessions go on. */
const signInRates = {
  'sign-ins': { ofAddress: { perSecond: 1, burst: 100 }, ofIssuer: { perSecond: 50, burst: 500 } },
  renewals: { ofAddress: { perSecond: 5, burst: 500 }, ofIssuer: { perSecond: 50, burst: 500 } },
}

type OrganizationRates = Pick<Limits, 'maxRequestsPerSecond' | 'maxDocumentBytesPerSecond'>

type Rate = { readonly perSecond: number; readonly burst: number }

/** Token buckets by name. They are kept in memory, so a restart refills them. */
const createBuckets = (clock: Clock) => {
  const buckets = new Map<string, Bucket>()
  return {
    /**
     * Takes `count` tokens if `needed` ones are available; the rest is owed. Returns the tokens left and the seconds until the call
     * would succeed and until all tokens are available.
     */
    take: (
      name: string,
      { perSecond, burst }: Rate,
      { count = 1, needed = count }: { count?: number; needed?: number } = {},
    ): { taken: boolean; left: number; nextInSeconds: number; fullInSeconds: number } => {
      const nowMs = clock.monotonic()
      const { tokens, atMs } = buckets.get(name) ?? { tokens: burst, atMs: nowMs }
      const available = Math.min(burst, tokens + ((nowMs - atMs) / 1000) * perSecond)
      const taken = available >= needed
      const left = taken ? available - count : available
      // The map is in the order of last use.
      buckets.delete(name)
      if (buckets.size >= maxBuckets) buckets.delete(buckets.keys().next().value ?? '')
      buckets.set(name, { tokens: left, atMs: nowMs })
      return { taken, left, nextInSeconds: (needed - left) / perSecond, fullInSeconds: (burst - left) / perSecond }
    },
  }
}

/** The counters of one replica. Each throws a 429 above its limit. */
export type RateLimits = ReturnType<typeof createRateLimits>

/**
 * Limits requests per credential and organization, written document bytes per organization, and starts and stops per world. The
 * platform key has no limits. The headers follow the IETF draft "RateLimit header fields for HTTP"
 * (draft-ietf-httpapi-ratelimit-headers-07).
 */
export const createRateLimits = (
  clock: Clock,
  options: RateLimitOptions,
  ratesOf: (organizationId: string) => OrganizationRates,
) => {
  const requests = createBuckets(clock)
  const starts = createBuckets(clock)
  const documents = createBuckets(clock)
  const requestRate = { perSecond: options.requestsPerSecond, burst: options.burst }
  const startRate = { perSecond: options.startsPerMinute / 60, burst: options.startsPerMinute }
  const failures = createBuckets(clock)
  const perMinute = options.failedCredentialsPerMinute
  const failureRate = { perSecond: perMinute / 60, burst: perMinute }
  const signInsOfAddress = createBuckets(clock)
  const signInsOfIssuer = createBuckets(clock)
  const shares = createBuckets(clock)
  const takeShare = (organizationId: string, headers: AnswerHeaders): void => {
    const perSecond = ratesOf(organizationId).maxRequestsPerSecond
    const { taken, nextInSeconds } = shares.take(organizationId, { perSecond, burst: perSecond * shareSeconds })
    if (taken) return
    const rate = `${perSecond} requests per second for the organization (maxRequestsPerSecond)`
    throw tooMany(rate, nextInSeconds, headers)
  }
  const takeBytes = (
    { principal, organizationId }: ByOrganization,
    bucket: string,
    amount: { count: number; needed?: number },
  ): void => {
    if (principal.kind === 'platform') return
    const perSecond = ratesOf(organizationId).maxDocumentBytesPerSecond
    // The largest document fits in every burst.
    const burst = Math.max(perSecond * documentSeconds, maxJsonBytes)
    const { taken, nextInSeconds } = documents.take(bucket, { perSecond, burst }, amount)
    if (taken) return
    const rate = `${perSecond} bytes of documents per second for the organization with a burst of ${burst} (maxDocumentBytesPerSecond)`
    throw tooMany(rate, nextInSeconds, {})
  }
  const tooManyFailures = (nextInSeconds: number): Problem =>
    tooMany(`${perMinute} failed credentials per minute and address`, nextInSeconds, {})
  const countFailure = (address: string): void => {
    const { taken, nextInSeconds } = failures.take(addressBlock(address), failureRate)
    if (!taken) throw tooManyFailures(nextInSeconds)
  }
  const policy = `${options.burst};w=${Math.ceil(options.burst / options.requestsPerSecond)}`
  return {
    /** Counts a request and returns the headers of its response. Throws a 429 above the limit. */
    countRequest: (principal: Principal): AnswerHeaders => {
      if (principal.kind === 'platform') return {}
      const { taken, left, nextInSeconds, fullInSeconds } = requests.take(principal.bucket, requestRate)
      const headers = {
        'ratelimit-limit': String(options.burst),
        'ratelimit-remaining': String(Math.floor(left)),
        'ratelimit-reset': String(Math.ceil(fullInSeconds)),
        'ratelimit-policy': policy,
      }
      if (!taken) {
        const rate = `${options.requestsPerSecond} requests per second with a burst of ${options.burst}`
        throw tooMany(rate, nextInSeconds, headers)
      }
      // A request above the limit of its credential does not count against its organization.
      if (principal.organizationId !== undefined) takeShare(principal.organizationId, headers)
      return headers
    },
    /** Throws a 429 for a client address that has no failed credential left. Counts nothing. */
    checkFailures: (address: string): void => {
      const { taken, nextInSeconds } = failures.take(addressBlock(address), failureRate, { count: 0, needed: 1 })
      if (!taken) throw tooManyFailures(nextInSeconds)
    },
    /** Counts a missing or invalid credential by client address. Throws a 429 above the limit. */
    countFailure,
    /**
     * Counts a request to an issuer, and a failed credential of the client address. Returns a function that takes the failure back.
     * Throws a 429 above a limit of the address or of the issuer.
     */
    countSignIn: (kind: keyof typeof signInRates, address: string, issuer: string): (() => void) => {
      const { ofAddress, ofIssuer } = signInRates[kind]
      const block = addressBlock(address)
      const own = signInsOfAddress.take(`${kind} ${block}`, ofAddress)
      if (!own.taken) throw tooMany(`${ofAddress.perSecond} ${kind} per second and address`, own.nextInSeconds, {})
      const all = signInsOfIssuer.take(`${kind} ${issuer}`, ofIssuer)
      if (!all.taken) throw tooMany(`${ofIssuer.perSecond} ${kind} per second and issuer`, all.nextInSeconds, {})
      // Before the request, so that requests at the same time do not pass together.
      countFailure(address)
      return () => void failures.take(block, failureRate, { count: -1, needed: 0 })
    },
    /**
     * Counts a start or stop of a world by the ids of the request. Throws a 429 above the limit. The world may not exist
     * in this scope, so a request from another scope does not use up the limit of the world's owner.
     */
    countStart: ({ principal, organizationId, projectId }: Scoped, worldId: string): void => {
      if (principal.kind === 'platform') return
      const { taken, nextInSeconds } = starts.take(`${organizationId}/${projectId}/${worldId}`, startRate)
      if (!taken) throw tooMany(`${options.startsPerMinute} starts and stops per minute and world`, nextInSeconds, {})
    },
    /** Counts the bytes of a document that is written. Throws a 429 above the limit of its organization. */
    countDocumentBytes: (scope: ByOrganization, bytes: number): void =>
      takeBytes(scope, scope.organizationId, { count: bytes }),
    /**
     * Counts the bytes of documents that are restored together, which may be more than a burst. Throws a 429 while earlier ones
     * exceed the limit of the organization. Written documents do not wait for them.
     */
    countRestoredBytes: (scope: ByOrganization, bytes: number): void =>
      takeBytes(scope, `restored ${scope.organizationId}`, { count: bytes, needed: 0 }),
  }
}

const tooMany = (limit: string, inSeconds: number, headers: AnswerHeaders): Problem =>
  new Problem('rate_limited', `The rate limit is ${limit}. Retry after the time in Retry-After.`, {
    headers: { ...headers, 'retry-after': String(Math.max(1, Math.ceil(inSeconds))) },
  })
