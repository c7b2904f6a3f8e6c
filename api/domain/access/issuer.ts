import {
  calculateJwkThumbprint,
  createLocalJWKSet,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
  jwtVerify,
  SignJWT,
} from 'jose'
import type { Sealer } from '#api/platform/secrets/seal.ts'
import type { Clock } from '#shared/clock.ts'
import { allowedAlgorithms, clockToleranceSeconds, type VerifiedToken, verified } from './token.ts'

/** The public half of a signing key (RFC 7517). */
export type PublicJwk = { kty: string; kid: string; alg: string; use: string; [member: string]: unknown }

/** A signing key as it is kept: the public half as it is, the private half sealed. */
export type StoredKey = { readonly id: string; readonly publicJwk: PublicJwk; readonly sealed: string }
/** Where signing keys are kept; the newest comes first. `add` lets one of two keys made at the same moment win. */
export type KeyStore = { list(): Promise<StoredKey[]>; add(key: StoredKey): Promise<void> }

/** The built-in issuer of tokens. */
export type TokenIssuer = ReturnType<typeof createIssuer>

/** What a private signing key's sealed text is bound to. */
export const aboutSigningKey = (id: string): string => `signing-key/${id}`

const algorithm = 'ES256'
/** A key that another replica made is known after this long at most. */
const freshMs = 10_000

/** Makes a key pair whose id is the thumbprint of its public half (RFC 7638). */
export const newSigningKey = async (sealer: Sealer): Promise<StoredKey> => {
  const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true })
  const { kty = '', ...rest } = await exportJWK(publicKey)
  const id = await calculateJwkThumbprint({ kty, ...rest })
  const sealed = sealer.seal(JSON.stringify(await exportJWK(privateKey)), aboutSigningKey(id))
  return { id, publicJwk: { kty, ...rest, kid: id, alg: algorithm, use: 'sig' }, sealed }
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
    const [newest] = await keys()
    if (newest !== undefined) return newest
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
    sign: async (token: { userId: string; organizationId: string; permissions: string[]; expiresAt: Date }) => {
      const { id, sealed } = await current()
      const privateKey = await importJWK(JSON.parse(sealer.open(sealed, aboutSigningKey(id))) as JWK, algorithm)
      return new SignJWT({ organization_id: token.organizationId, permissions: token.permissions })
        .setProtectedHeader({ alg: algorithm, kid: id, typ: 'JWT' })
        .setSubject(token.userId)
        .setIssuer(url)
        .setAudience(url)
        .setIssuedAt(new Date(clock.now()))
        .setExpirationTime(token.expiresAt)
        .sign(privateKey)
    },
    /** Verifies a token of this issuer; throws where anything of it is not as it should be. */
    verify: async (token: string): Promise<VerifiedToken> => {
      const { payload } = await jwtVerify(token, createLocalJWKSet(await keySet()), {
        issuer: url,
        audience: url,
        algorithms: allowedAlgorithms,
        clockTolerance: clockToleranceSeconds,
        currentDate: new Date(clock.now()),
        requiredClaims: ['sub', 'exp'],
      })
      return verified(payload)
    },
  }
}
