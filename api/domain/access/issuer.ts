import {
  calculateJwkThumbprint,
  createLocalJWKSet,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
  type JWTPayload,
  jwtVerify,
  SignJWT,
} from 'jose'
import * as z from 'zod'
import type { Sealer } from '#api/platform/secrets/seal.ts'
import type { Clock } from '#shared/clock.ts'
import {
  allowedAlgorithms,
  clockToleranceSeconds,
  type TokenOrigin,
  toVerifiedToken,
  type VerifiedToken,
} from './token.ts'

/** The public half of a signing key (RFC 7517). */
export type PublicJwk = { kty: string; kid: string; alg: string; use: string; [member: string]: unknown }

/** A stored signing key: the public half in clear text, the private half sealed. */
export type StoredKey = {
  readonly id: string
  readonly publicJwk: PublicJwk
  readonly sealed: string
  /** Set by the store. */
  readonly createdAt?: Date
}

/** The store of signing keys. `list` returns the newest first. Of two concurrent calls of `add`, one stores its key. */
export type KeyStore = { list(): Promise<StoredKey[]>; add(key: StoredKey): Promise<void> }

/** The built-in issuer: signs tokens of users and verifies them by its own keys. */
export type TokenIssuer = ReturnType<typeof createIssuer>

/** Returns the context to which the sealed private half of a signing key is bound. */
export const signingKeyContext = (id: string): string => `signing-key/${id}`

const algorithm = 'ES256'
/** The maximum age of the cached keys. A replica sees a key of another one after at most this time. */
const maxAgeMs = 500
/** The delay until a new key signs. Longer than `maxAgeMs`, so every replica can verify its tokens. */
const introductionMs = 2_000

/** Generates a key pair. Its id is the thumbprint of the public half (RFC 7638). */
export const newSigningKey = async (sealer: Sealer): Promise<StoredKey> => {
  const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true })
  const { kty = '', ...rest } = await exportJWK(publicKey)
  const id = await calculateJwkThumbprint({ kty, ...rest })
  const sealed = sealer.seal(JSON.stringify(await exportJWK(privateKey)), signingKeyContext(id))
  return { id, publicJwk: { kty, ...rest, kid: id, alg: algorithm, use: 'sig' }, sealed }
}

/** The claims of a token to sign; `keyId` is the API key that mints it. */
export type TokenToSign = {
  readonly id: string
  readonly keyId: string
  readonly userId: string
  readonly organizationId: string
  readonly permissions: string[]
  readonly expiresAt: Date
}

const originClaims = z.object({ jti: z.string(), key_id: z.string() })
const toOrigin = (payload: JWTPayload, signingKeyId = ''): TokenOrigin => {
  const { jti, key_id: keyId } = originClaims.parse(payload)
  return { id: jti, keyId, signingKeyId }
}

/** Signs and verifies tokens with keys that all replicas share. The first replica that needs a key creates it. */
export const createIssuer = (options: { store: KeyStore; sealer: Sealer; clock: Clock; url: string }) => {
  const { store, sealer, clock, url } = options
  let cached: { atMs: number; keys: StoredKey[] } | undefined
  const keys = async (): Promise<StoredKey[]> => {
    if (cached !== undefined && clock.monotonic() - cached.atMs < maxAgeMs) return cached.keys
    cached = { atMs: clock.monotonic(), keys: await store.list() }
    return cached.keys
  }
  const signingKey = async (): Promise<StoredKey> => {
    const stored = await keys()
    const isIntroduced = ({ createdAt }: StoredKey) => clock.now() - (createdAt?.getTime() ?? 0) >= introductionMs
    const existing = stored.find(isIntroduced) ?? stored.at(-1)
    if (existing !== undefined) return existing
    await store.add(await newSigningKey(sealer))
    cached = undefined
    const [created] = await keys()
    if (created === undefined) throw new Error('The store does not list the signing key that was added.')
    return created
  }
  const keySet = async (): Promise<{ keys: PublicJwk[] }> => {
    await signingKey()
    return { keys: (await keys()).map(({ publicJwk }) => publicJwk) }
  }
  return {
    url,
    keySet,
    /** Signs a token for one user in one organization. */
    sign: async (token: TokenToSign) => {
      const { id, sealed } = await signingKey()
      const privateKey = await importJWK(JSON.parse(sealer.open(sealed, signingKeyContext(id))) as JWK, algorithm)
      return new SignJWT({ organization_id: token.organizationId, permissions: token.permissions, key_id: token.keyId })
        .setProtectedHeader({ alg: algorithm, kid: id, typ: 'JWT' })
        .setJti(token.id)
        .setSubject(token.userId)
        .setIssuer(url)
        .setAudience(url)
        .setIssuedAt(new Date(clock.now()))
        .setExpirationTime(token.expiresAt)
        .sign(privateKey)
    },
    /** Verifies a token of this issuer. Throws if the signature or a claim is invalid. */
    verify: async (token: string): Promise<VerifiedToken & { issued: TokenOrigin }> => {
      const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(await keySet()), {
        issuer: url,
        audience: url,
        algorithms: allowedAlgorithms,
        clockTolerance: clockToleranceSeconds,
        currentDate: new Date(clock.now()),
        requiredClaims: ['sub', 'exp'],
      })
      return { ...toVerifiedToken(payload), issued: toOrigin(payload, protectedHeader.kid) }
    },
  }
}
