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
import { z } from 'zod'
import type { Sealer } from '#api/platform/secrets/seal.ts'
import type { Clock } from '#shared/clock.ts'
import { allowedAlgorithms, clockToleranceSeconds, type TokenOrigin, type VerifiedToken, verified } from './token.ts'

/** The public half of a signing key (RFC 7517). */
export type PublicJwk = { kty: string; kid: string; alg: string; use: string; [member: string]: unknown }

/** A signing key as it is kept: the public half as it is, the private half sealed. */
export type StoredKey = {
  readonly id: string
  readonly publicJwk: PublicJwk
  readonly sealed: string
  /** Left out where the key is about to be stored. */
  readonly createdAt?: Date
}
/** Where signing keys are kept; the newest comes first. `add` lets one of two keys made at the same moment win. */
export type KeyStore = { list(): Promise<StoredKey[]>; add(key: StoredKey): Promise<void> }

/** The built-in issuer of tokens. */
export type TokenIssuer = ReturnType<typeof createIssuer>

/** What a private signing key's sealed text is bound to. */
export const aboutSigningKey = (id: string): string => `signing-key/${id}`

const algorithm = 'ES256'
/** A key that another replica made is known after this long at most. */
const freshMs = 500
/** A new key signs only when every replica has it. */
const introductionMs = 2_000

/** Makes a key pair whose id is the thumbprint of its public half (RFC 7638). */
export const newSigningKey = async (sealer: Sealer): Promise<StoredKey> => {
  const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true })
  const { kty = '', ...rest } = await exportJWK(publicKey)
  const id = await calculateJwkThumbprint({ kty, ...rest })
  const sealed = sealer.seal(JSON.stringify(await exportJWK(privateKey)), aboutSigningKey(id))
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
const issuedBy = (payload: JWTPayload, signingKeyId = ''): TokenOrigin => {
  const { jti, key_id: keyId } = originClaims.parse(payload)
  return { id: jti, keyId, signingKeyId }
}

/** Signs and verifies tokens with keys that all replicas share; the first that needs one makes it. */
export const createIssuer = (options: { store: KeyStore; sealer: Sealer; clock: Clock; url: string }) => {
  const { store, sealer, clock, url } = options
  let known: { atMs: number; keys: StoredKey[] } | undefined
  const keys = async (): Promise<StoredKey[]> => {
    if (known !== undefined && clock.monotonic() - known.atMs < freshMs) return known.keys
    known = { atMs: clock.monotonic(), keys: await store.list() }
    return known.keys
  }
  const current = async (): Promise<StoredKey> => {
    const stored = await keys()
    const isIntroduced = ({ createdAt }: StoredKey) => clock.now() - (createdAt?.getTime() ?? 0) >= introductionMs
    const found = stored.find(isIntroduced) ?? stored.at(-1)
    if (found !== undefined) return found
    await store.add(await newSigningKey(sealer))
    known = undefined
    const [made] = await keys()
    if (made === undefined) throw new Error('The signing key that was made is not there')
    return made
  }
  const keySet = async (): Promise<{ keys: PublicJwk[] }> => {
    await current()
    return { keys: (await keys()).map(({ publicJwk }) => publicJwk) }
  }
  return {
    url,
    keySet,
    /** Signs a token that is about one user in one organization. */
    sign: async (token: TokenToSign) => {
      const { id, sealed } = await current()
      const privateKey = await importJWK(JSON.parse(sealer.open(sealed, aboutSigningKey(id))) as JWK, algorithm)
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
    /** Verifies a token of this issuer; throws where anything of it is not as it should be. */
    verify: async (token: string): Promise<VerifiedToken & { issued: TokenOrigin }> => {
      const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(await keySet()), {
        issuer: url,
        audience: url,
        algorithms: allowedAlgorithms,
        clockTolerance: clockToleranceSeconds,
        currentDate: new Date(clock.now()),
        requiredClaims: ['sub', 'exp'],
      })
      return { ...verified(payload), issued: issuedBy(payload, protectedHeader.kid) }
    },
  }
}
