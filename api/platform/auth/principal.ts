/** Who makes a request, with what it may do. Platform and key come from x-api-key, a user from a Bearer token. */
export type Principal = {
  readonly kind: 'anonymous' | 'platform' | 'key' | 'user'
  /** The id of the key, or the user's own. */
  readonly id: string
  /** The name under which its requests and connections are counted; it begins with the credential's organization. */
  readonly bucket: string
  readonly permissions: readonly string[]
  readonly claims: readonly string[]
  /** The organization that a user's token is about. */
  readonly organizationId?: string
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
  readonly organizationId: string
  readonly userId: string
  readonly permissions: readonly string[]
}

/** The ids whose changes end or change a principal: those of its key, or of its token and what made the token. */
export const credentialIds = ({ kind, id, token }: Principal): readonly string[] =>
  kind === 'key' ? [id] : token === undefined ? [] : [token.id, token.keyId, token.signingKeyId]

/** The claims that mean something; others are kept and returned. */
export const knownClaims = ['createOrganization', 'largeWorlds', 'worldServer', 'bot'] as const

/** A claim that means something. */
export type KnownClaim = (typeof knownClaims)[number]

/** The platform's own key: it may everything, and no limit counts it. */
export const platform: Principal = {
  kind: 'platform',
  id: 'platform',
  bucket: '',
  permissions: ['*'],
  claims: knownClaims.filter((claim) => claim !== 'bot'),
}

/** Somebody without a credential, known by the address alone. */
export const anonymous = (address: string): Principal => ({
  kind: 'anonymous',
  id: 'anonymous',
  bucket: `address ${address}`,
  permissions: [],
  claims: [],
})

/** A bot's key reads its world and nothing else, whatever permissions it was given. */
export const permissionsOfBot = (permissions: readonly string[]): string[] =>
  permissions.flatMap((each) => (/\/worlds\/[^/:]+(\/\*\*)?:[rw*]$/.test(each) ? [`${each.slice(0, -1)}r`] : []))
