import { addressBlock } from '#api/platform/http/clientAddress.ts'

/** The authenticated caller. The kinds `platform` and `key` come from x-api-key, `user` comes from a Bearer token. */
export type Principal = {
  readonly kind: 'anonymous' | 'platform' | 'key' | 'user'
  /** The id of the key, or the subject of the token. */
  readonly id: string
  /** The id of the platform key that was used. Tokens that it mints end when this key is no longer configured. */
  readonly platformKeyId?: string
  /** The key under which requests and connections are counted. It begins with the organization of the credential. */
  readonly bucket: string
  /** The organization of the credential, whose limits count it; absent for the platform key and without a credential. */
  readonly organizationId?: string
  readonly permissions: readonly string[]
  readonly claims: readonly string[]
  /** The expiry of the credential, in epoch milliseconds. */
  readonly expiresAtMs?: number
  /** The CIDR blocks from which a key may be used. */
  readonly allowedNetworks?: readonly string[]
  /** The number of the rotation that created the caller's key string. */
  readonly rotation?: number
  /** The caller's token, if the built-in issuer signed it, with its original permissions. */
  readonly token?: IssuedToken
  /** The caller's token, if an external issuer signed it. */
  readonly external?: ExternalToken
}

/** The parts of a token of an external issuer from which its permissions follow. */
export type ExternalToken = {
  readonly issuer: string
  readonly groups: readonly string[]
  /** The permissions that the token itself contains. */
  readonly permissions: readonly string[]
}

/** The identity of a token of the built-in issuer. */
export type IssuedToken = {
  readonly id: string
  readonly keyId: string
  readonly signingKeyId: string
  readonly organizationId: string
  readonly userId: string
  readonly permissions: readonly string[]
  /** The expiry of the token itself, in epoch milliseconds. The key that minted it may end earlier. */
  readonly expiresAtMs: number
}

/**
 * Returns the ids whose changes affect a principal: its API key, or the organization and the token with the keys that minted and
 * signed it. The first is that of the caller alone.
 */
export const credentialIds = ({ kind, id, bucket, token, organizationId = '' }: Principal): readonly string[] => {
  if (kind === 'key') return [id]
  if (kind !== 'user') return []
  return token === undefined ? [bucket, organizationId] : [token.id, token.keyId, token.signingKeyId, organizationId]
}

/**
 * Returns a name that no two callers share. The id of a key is unique. The subject of a token is unique only within its
 * organization and issuer, so a user is named by its bucket of rate limits.
 */
export const callerName = ({ kind, id, bucket }: Pick<Principal, 'kind' | 'id' | 'bucket'>): string =>
  kind === 'user' ? bucket : id

/** Reports whether a credential ends at some time, or is valid in some networks only. */
export const isRestricted = ({ expiresAtMs, allowedNetworks }: Principal): boolean =>
  expiresAtMs !== undefined || allowedNetworks !== undefined

/** Returns the principal of a request without a credential, identified by the client address. */
export const anonymous = (address: string): Principal => ({
  kind: 'anonymous',
  id: 'anonymous',
  bucket: `address ${addressBlock(address)}`,
  permissions: [],
  claims: [],
})
