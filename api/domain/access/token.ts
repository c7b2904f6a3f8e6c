import { createRemoteJWKSet, decodeJwt, type JWTPayload, jwtVerify } from 'jose'
import { z } from 'zod'
import type { IssuedToken, Principal } from '#api/platform/auth/principal.ts'
import type { Clock } from '#shared/clock.ts'
import { isId } from '#shared/ids.ts'

/** The signatures that are trusted: never `none`, never a shared secret. */
export const allowedAlgorithms = ['RS256', 'ES256', 'EdDSA']
/** How far the clocks of an issuer and of this process may be apart. */
export const clockToleranceSeconds = 30

/** Reports whether keys fetched from a URL cannot be replaced on the way. */
const isSecureOrLoopback = (text: string): boolean => {
  const url = URL.parse(text)
  return url?.protocol === 'https:' || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url?.hostname ?? '')
}

/** An issuer outside, as the configuration names it. */
export const issuerSchema = z.strictObject({
  issuer: z.string().min(1),
  audience: z.string().min(1),
  jwksUrl: z
    .url({ protocol: /^https?$/ })
    .refine(isSecureOrLoopback, 'must be https; http is allowed on loopback only'),
  /** The organizations that it may speak for; `*` is all of them. */
  organizations: z
    .array(
      z.string().refine((id) => id === '*' || isId('organization', id), 'must be ids of organizations, or "*"'),
      {
        error: 'must list the organizations that the issuer may speak for; ["*"] is all of them',
      },
    )
    .min(1, 'must list the organizations that the issuer may speak for; ["*"] is all of them'),
})
export type ExternalIssuer = z.output<typeof issuerSchema>

/** What a token says, once its signature is known to be right. */
export type VerifiedToken = { userId: string; organizationId: string; permissions: string[]; expiresAtMs: number }

/** The ids of a token, of the key that minted it and of the key that signed it. */
export type TokenOrigin = Pick<IssuedToken, 'id' | 'keyId' | 'signingKeyId'>

const claims = z.object({
  sub: z.string().min(1).max(128),
  organization_id: z.string().refine((id) => isId('organization', id)),
  permissions: z.array(z.string().max(512)).max(256).default([]),
})

/** Reads the claims; permissions outside the token's own organization are not taken over from any issuer. */
export const verified = (payload: JWTPayload): VerifiedToken => {
  const { sub, organization_id: organizationId, permissions } = claims.parse(payload)
  const own = `organizations/${organizationId}`
  const within = permissions.filter((each) => [`${own}:`, `${own}/`].some((prefix) => each.startsWith(prefix)))
  const expiresAtMs = ((payload.exp ?? 0) + clockToleranceSeconds) * 1_000
  return { userId: sub, organizationId, permissions: within, expiresAtMs }
}

/** An unknown key id asks the issuer again at most this often. */
const cooldownMs = 30_000
const refreshMs = 300_000
const fetchTimeoutMs = 5_000

/**
 * Verifies Bearer tokens of the built-in issuer and of those that are configured. Keys come from the issuer's JWKS URL
 * alone: a key in a token, or an address of one, is never looked at. What was fetched is used for as long as the issuer
 * cannot be reached, and is asked for anew every five minutes.
 */
export const createTokenVerifier = (options: {
  issuer: { verify(token: string): Promise<VerifiedToken & { issued: TokenOrigin }> }
  external: readonly ExternalIssuer[]
  clock: Clock
  /** Returns a token's principal as its key allows it now, or undefined where key or token were revoked. */
  confirm: (principal: Principal) => Promise<Principal | undefined>
}) => {
  const { issuer, external, clock, confirm } = options
  const others = new Map(external.map((each) => [each.issuer, { ...each, keys: remoteKeys(each.jwksUrl, clock) }]))
  return async (token: string): Promise<Principal | undefined> => {
    try {
      const { iss = '' } = decodeJwt(token)
      const other = others.get(iss)
      if (other !== undefined) return userOf(iss, await ofOther(other))
      const { issued, ...found } = await issuer.verify(token)
      const { userId, organizationId, permissions } = found
      return await confirm({
        ...userOf(iss, found),
        token: { ...issued, userId, tenantId: organizationId, permissions },
      })
    } catch (error) {
      if (error instanceof Error && error.name === 'DrizzleQueryError') throw error
      return undefined
    }

    async function ofOther({ keys, ...trusted }: ExternalIssuer & { keys: ReturnType<typeof remoteKeys> }) {
      const { payload } = await jwtVerify(token, keys(), {
        issuer: trusted.issuer,
        audience: trusted.audience,
        algorithms: allowedAlgorithms,
        clockTolerance: clockToleranceSeconds,
        currentDate: new Date(clock.now()),
        requiredClaims: ['sub', 'exp'],
      })
      const found = verified(payload)
      const { organizations } = trusted
      if (!organizations.includes('*') && !organizations.includes(found.organizationId)) {
        throw new Error('not of its organizations')
      }
      return found
    }
  }
}

const userOf = (iss: string, { userId, organizationId, permissions, expiresAtMs }: VerifiedToken): Principal => ({
  ...{ kind: 'user', id: userId, bucket: `${organizationId} user ${iss} ${userId}`, claims: [] },
  ...{ permissions, tenantId: organizationId, homeTenantId: organizationId, expiresAtMs },
})

const remoteKeys = (url: string, clock: Clock) => {
  const set = createRemoteJWKSet(new URL(url), {
    cooldownDuration: cooldownMs,
    cacheMaxAge: Number.POSITIVE_INFINITY,
    timeoutDuration: fetchTimeoutMs,
  })
  let askedMs = clock.monotonic()
  return () => {
    if (clock.monotonic() - askedMs > refreshMs) {
      askedMs = clock.monotonic()
      // An issuer that is away keeps its keys here.
      set.reload().catch(() => undefined)
    }
    return set
  }
}
