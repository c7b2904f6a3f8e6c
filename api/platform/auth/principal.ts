/** Who makes a request, with what it may do. Platform and key come from x-api-key, a user from a Bearer token. */
export type Principal = {
  readonly kind: 'anonymous' | 'platform' | 'key' | 'user'
  /** The id of the key, or the user's own. */
  readonly id: string
  /** The name under which its requests and connections are counted; it begins with the credential's tenant. */
  readonly bucket: string
  readonly permissions: readonly string[]
  readonly claims: readonly string[]
  /** The tenant of a user's token. */
  readonly tenantId?: string
}

/** Somebody without a credential, known by the address alone. */
export const anonymous = (address: string): Principal => ({
  kind: 'anonymous',
  id: 'anonymous',
  bucket: `address ${address}`,
  permissions: [],
  claims: [],
})
