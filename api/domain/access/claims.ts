import type { Principal } from '#api/platform/auth/principal.ts'

/** The claims that the API interprets. Other claims are stored and returned unchanged. */
export const knownClaims = ['createOrganization', 'largeWorlds', 'worldServer', 'bot'] as const

export type KnownClaim = (typeof knownClaims)[number]

/** The platform key. It has full access and no limits. */
export const platform: Principal = {
  kind: 'platform',
  id: 'platform',
  bucket: '',
  permissions: ['*'],
  claims: knownClaims.filter((claim) => claim !== 'bot'),
}

/** Reduces the permissions of a bot's key to reading worlds. */
export const permissionsOfBot = (permissions: readonly string[]): string[] =>
  permissions.flatMap((each) => (/\/worlds\/[^/:]+(\/\*\*)?:[rw*]$/.test(each) ? [`${each.slice(0, -1)}r`] : []))
