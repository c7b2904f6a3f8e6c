/** Who makes a request, with what it may do. Platform and key come from x-api-key, a user from a Bearer token. */
export type Principal = {
  readonly kind: 'anonymous' | 'platform' | 'key' | 'user'
  /** The id of the key, or the user's own. */
  readonly id: string
  /** The name under which its requests and connections are counted; it begins with the credential's tenant. */
  readonly bucket: string
  /** The tenant whose limits count this credential; absent for the platform key and without a credential. */
  readonly homeTenantId?: string
  readonly permissions: readonly string[]
  readonly claims: readonly string[]
  /** The tenant of a user's token. */
  readonly tenantId?: string
  /** The end of the credential, in epoch milliseconds. */
  readonly expiresAtMs?: number
  /** The CIDR blocks from which a key may be used. */
  readonly allowedNetworks?: readonly string[]
  /** The rotation that made the key string of this caller. */
  readonly rotation?: number
  /** A token of the built-in issuer, with its permissions as they were signed. */
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

/** The ids whose changes end or change a principal: those of its key, or of its token and what made the token. */
export const credentialIds = ({ kind, id, token }: Principal): readonly string[] =>
  kind === 'key' ? [id] : token === undefined ? [] : [token.id, token.keyId, token.signingKeyId]

/** Somebody without a credential, known by the address alone. */
export const anonymous = (address: string): Principal => ({
  kind: 'anonymous',
  id: 'anonymous',
  bucket: `address ${address}`,
  permissions: [],
  claims: [],
})
