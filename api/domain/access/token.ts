import { createRemoteJWKSet, customFetch, decodeJwt, type JWTPayload, jwtVerify } from 'jose'
import * as z from 'zod'
import type { IssuedToken, Principal } from '#api/platform/auth/principal.ts'
import { boundedText, freeText } from '#api/platform/http/fields.ts'
import { isDatabaseUnavailable, Problem } from '#api/platform/http/problem.ts'
import { isLoopbackUrl, isSecureUrl } from '#api/platform/http/secureUrl.ts'
import type { Clock } from '#shared/clock.ts'
import { isId } from '#shared/ids.ts'
import { callPeer, within } from '#shared/peers.ts'
import { groupsClaim, groupsOf } from './groups.ts'
import { maxPermissionLength, permissionsWithin } from './permissions.ts'

/** The accepted signature algorithms: never `none`, never one with a shared secret. */
export const allowedAlgorithms = ['RS256', 'ES256', 'EdDSA']

/** The tolerated difference between the clocks of an issuer and of this process. */
export const clockToleranceSeconds = 30

/** Reports whether an answer from a URL cannot be replaced in transit. */
const isSecureOrLoopback = (text: string): boolean => isSecureUrl(text) || isLoopbackUrl(text)

const organizationsMessage = 'must list the organizations for which the issuer may sign tokens; ["*"] means all'

/** A value that the issuer gave to the operator of the platform. */
const registered = () => z.string().min(1).max(2_048)

/** The secret of a client. */
export const clientSecret = registered()

/** The client with which people sign in to the console at an external issuer. */
const signInSchema = z
  .strictObject({
    /** The name of the issuer, for people. */
    name: freeText(),
    clientId: registered(),
    clientSecret: clientSecret.optional(),
    /** The path of a file with the secret. */
    clientSecretFile: registered().optional(),
    scopes: z
      .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be a scope, without spaces and quotation marks'))
      .max(32)
      .default(['openid'])
      .refine((scopes) => scopes.includes('openid'), 'must contain openid'),
    /** The token of an answer that the console gets: the access token, or the ID token where access tokens are opaque. */
    token: z.enum(['access', 'id']).default('access'),
  })
  .refine(
    ({ clientSecret, clientSecretFile }) => clientSecret === undefined || clientSecretFile === undefined,
    'must have clientSecret or clientSecretFile, not both',
  )

/** The configuration of an external issuer. */
export const issuerSchema = z
  .strictObject({
    issuer: z.string().min(1),
    audience: z.string().min(1),
    jwksUrl: z
      .url({ protocol: /^https?$/ })
      .refine(isSecureOrLoopback, 'must be https; http is allowed on loopback only'),
    /** The organizations for which the issuer may sign tokens; `*` means all. */
    organizations: z
      .array(
        z.string().refine((id) => id === '*' || isId('organization', id), 'must be an organization id or "*"'),
        { error: organizationsMessage },
      )
      .min(1, organizationsMessage),
    /** The claim that lists the groups of a user. */
    groupsClaim,
    signIn: signInSchema.optional(),
  })
  .superRefine(({ issuer, audience, signIn }, context) => {
    if (signIn === undefined) return
    const add = (field: string, message: string) => context.addIssue({ code: 'custom', path: [field], message })
    if (!isSecureOrLoopback(issuer) || /[?#]/.test(issuer))
      add('issuer', 'must be an https URL without a query where it has signIn; http is allowed on loopback only')
    if (signIn.token === 'id' && audience !== signIn.clientId)
      add('audience', 'must be the clientId, which is the audience of ID tokens, or signIn.token must be access')
  })
/** The configurations of all external issuers. */
export const issuersSchema = z.array(issuerSchema).refine((issuers) => {
  const offered = new Set(issuers.flatMap(({ issuer, signIn }) => (signIn ? [issuer] : [])))
  return issuers.filter(({ issuer }) => offered.has(issuer)).length === offered.size
}, 'lists an issuer with signIn twice')
export type ExternalIssuer = z.output<typeof issuerSchema>

/** Reports whether an issuer may sign tokens for an organization. */
export const maySignFor = ({ organizations }: Pick<ExternalIssuer, 'organizations'>, organizationId: string): boolean =>
  organizations.includes('*') || organizations.includes(organizationId)

/** The claims of a token whose signature is valid. */
export type VerifiedToken = { userId: string; organizationId: string; permissions: string[]; expiresAtMs: number }

/** The ids of a token, of the API key that minted it and of the key that signed it. */
export type TokenOrigin = Pick<IssuedToken, 'id' | 'keyId' | 'signingKeyId'>

/** An expiry above it has no date (ECMA-262, section 21.4.1.1). */
const maxExpirySeconds = 8_640_000_000_000 - clockToleranceSeconds

const claimsSchema = z.object({
  // The subject is stored in audit records and documents.
  sub: freeText().refine((text) => text.isWellFormed()),
  organization_id: z.string().refine((id) => isId('organization', id)),
  permissions: z.array(boundedText(maxPermissionLength)).max(256).default([]),
  // A number that JSON cannot represent, such as 1e400, would be an expiry that never comes.
  exp: z.number().max(maxExpirySeconds),
})

/**
 * Reads the claims of a token. Drops permissions outside the token's organization, and invalid ones. Throws if another claim
 * is invalid.
 */
export const toVerifiedToken = (payload: JWTPayload): VerifiedToken => {
  const { sub, organization_id: organizationId, permissions, exp } = claimsSchema.parse(payload)
  const expiresAtMs = (exp + clockToleranceSeconds) * 1_000
  return { userId: sub, organizationId, permissions: permissionsWithin(organizationId, permissions), expiresAtMs }
}

/** The minimum interval between fetches for unknown key ids. Invented ids can delay the use of a rotated key for this long. */
const cooldownMs = 5_000
const refreshMs = 300_000
const fetchTimeoutMs = 5_000
/** The maximum number of bytes of an answer with keys. */
const maxKeysBytes = 262_144

/**
 * Verifies Bearer tokens of the built-in issuer and of configured issuers. Keys come only from the issuer's JWKS URL: a
 * key or a key URL in a token is ignored. Keys are fetched again every five minutes, and stay in use while the issuer is
 * unreachable. Returns undefined for an invalid token. Throws a 503 if a key is needed and cannot be fetched. `loadKeys` loads the keys
 * of an external issuer if none are known, and throws as well.
 */
export const createTokenVerifier = (options: {
  issuer: { verify(token: string): Promise<VerifiedToken & { issued: TokenOrigin }> }
  external: readonly ExternalIssuer[]
  clock: Clock
  /**
   * Returns the principal with its current permissions, or undefined if its key, token or organization is no longer valid. A
   * token of the built-in issuer has at most the permissions of the key that minted it. One of an external issuer also has those
   * of its groups.
   */
  confirm: (principal: Principal) => Promise<Principal | undefined>
}) => {
  const { issuer, external, clock, confirm } = options
  const externalIssuers = new Map(
    external.map((each) => [each.issuer, { ...each, keys: remoteKeys(each.jwksUrl, clock) }]),
  )
  const loadKeys = async (issuer: string): Promise<void> => {
    const keys = externalIssuers.get(issuer)?.keys()
    if (keys?.jwks() === undefined) await keys?.reload().catch(issuerUnavailable)
  }
  const verify = async (token: string): Promise<Principal | undefined> => {
    const verified = await verifyToken().catch((error: unknown): undefined => {
      if (error instanceof Problem || isDatabaseUnavailable(error)) throw error
      return undefined
    })
    return verified && confirm(verified)

    async function verifyToken(): Promise<Principal> {
      const { iss = '' } = decodeJwt(token)
      const externalIssuer = externalIssuers.get(iss)
      if (externalIssuer !== undefined) {
        const { groups, ...claims } = await verifyExternal(externalIssuer)
        const { permissions } = claims
        return { ...toPrincipal(iss, claims), external: { issuer: iss, groups, permissions } }
      }
      const { issued, ...claims } = await issuer.verify(token)
      const { userId, organizationId, permissions, expiresAtMs } = claims
      return {
        ...toPrincipal(iss, claims),
        token: { ...issued, userId, organizationId, permissions, expiresAtMs },
      }
    }

    async function verifyExternal({ keys, ...trusted }: ExternalIssuer & { keys: ReturnType<typeof remoteKeys> }) {
      const { payload } = await jwtVerify(token, keys(), {
        issuer: trusted.issuer,
        audience: trusted.audience,
        algorithms: allowedAlgorithms,
        clockTolerance: clockToleranceSeconds,
        currentDate: new Date(clock.now()),
        requiredClaims: ['sub', 'exp'],
      })
      const claims = toVerifiedToken(payload)
      if (!maySignFor(trusted, claims.organizationId)) {
        throw new Error(`The issuer may not sign tokens for the organization ${claims.organizationId}.`)
      }
      return { ...claims, groups: groupsOf(payload[trusted.groupsClaim]) }
    }
  }
  return Object.assign(verify, { loadKeys })
}

const toPrincipal = (iss: string, { userId, organizationId, permissions, expiresAtMs }: VerifiedToken): Principal => ({
  kind: 'user',
  id: userId,
  // Encoded, so that the end of the issuer is unambiguous: no two users share a bucket.
  bucket: `${organizationId} user ${encodeURIComponent(iss)} ${userId}`,
  claims: [],
  permissions,
  organizationId,
  expiresAtMs,
})

const fetchKeys = async (url: string, headers: Headers, clock: Clock): Promise<Response> => {
  const call = { url, headers: Object.fromEntries(headers), maxBytes: maxKeysBytes }
  const answer = await within({ clock, timeoutMs: fetchTimeoutMs }, (signal) => callPeer({ ...call, signal })).catch(
    issuerUnavailable,
  )
  if (answer.statusCode !== 200) return issuerUnavailable(new Error(`HTTP status ${answer.statusCode}`))
  if (!answer.isComplete) return issuerUnavailable(new Error('The answer ended early.'))
  return new Response(answer.body)
}

const issuerUnavailable = (cause: unknown): never => {
  if (cause instanceof Problem) throw cause
  const detail = 'The keys of the token issuer cannot be fetched. Retry after the time in Retry-After.'
  throw new Problem('unavailable', detail, { headers: { 'retry-after': '5' }, cause })
}

const remoteKeys = (url: string, clock: Clock) => {
  const set = createRemoteJWKSet(new URL(url), {
    cooldownDuration: cooldownMs,
    cacheMaxAge: Number.POSITIVE_INFINITY,
    [customFetch]: (address, { headers }) => fetchKeys(address, headers, clock),
  })
  let fetchedMs = clock.monotonic()
  return () => {
    if (clock.monotonic() - fetchedMs > refreshMs) {
      fetchedMs = clock.monotonic()
      // The last keys stay in use while the issuer is unreachable.
      set.reload().catch(() => undefined)
    }
    return set
  }
}
