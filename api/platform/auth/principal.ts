/** The authenticated caller. The kinds `platform` and `key` come from x-api-key, `user` comes from a Bearer token. */
export type Principal = {
  readonly kind: 'anonymous' | 'platform' | 'key' | 'user'
  /** The id of the key, or the subject of the token. */
  readonly id: string
  /** The key under which requests and connections are counted. It begins with the tenant of the credential. */
  readonly bucket: string
  /** The tenant whose limits count this credential; absent for the platform key and without a credential. */
  readonly homeTenantId?: string
  readonly permissions: readonly string[]
  readonly claims: readonly string[]
  /** The tenant of a user's token. */
  readonly tenantId?: string
  /** The expiry of the credential, in epoch milliseconds. */
  readonly expiresAtMs?: number
  /** The CIDR blocks from which a key may be used. */
  readonly allowedNetworks?: readonly string[]
  /** The number of the rotation that created the caller's key string. */
  readonly rotation?: number
  /** The caller's token, if the built-in issuer signed it, with its original permissions. */
  readonly token?: IssuedToken
}

/** The identity of a token of the built-in issuer. */
export type IssuedToken = {
  readonly id: string
  readonly keyId: string
  readonly signingKeyId: string
  readonly tenantId: string
  readonly userId: string
  readonly permissions: readonly string[]
}

/** Returns the ids whose changes affect a principal: its API key, or its token with the keys that minted and signed it. */
export const credentialIds = ({ kind, id, token }: Principal): readonly string[] =>
  kind === 'key' ? [id] : token === undefined ? [] : [token.id, token.keyId, token.signingKeyId]

/** Returns the principal of a request without a credential, identified by the client address. */
export const anonymous = (address: string): Principal => ({
  kind: 'anonymous',
  id: 'anonymous',
  bucket: `address ${address}`,
  permissions: [],
  claims: [],
})
