import { createHash } from 'node:crypto'
import type { SignIn } from '#api/domain/access/context.ts'
import type { ExternalIssuer } from '#api/domain/access/token.ts'
import { createShares } from '#api/platform/fairness/shares.ts'
import { consolePath } from '#api/platform/http/console.ts'
import { createOpenIdClient } from '#api/platform/openId/client.ts'
import type { Clock } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'

/** The calls to one issuer at the same time, those that wait, and how long. */
const issuerShare = { maxConcurrent: 16, maxWaiting: 64, maxWaitMs: 5_000 }

/** Returns the id of an issuer in its redirect URIs: the first 24 hexadecimal digits of its SHA-256. */
export const issuerIdOf = (issuer: string): string => createHash('sha256').update(issuer).digest('hex').slice(0, 24)

/**
 * Returns the sign-ins of the issuers that have a client, by the issuer. `consoles` are URLs of the origins of the console. Each issuer
 * has its own redirect URIs: it cannot pass off the code of another issuer as its own (RFC 9700, section 4.4.2).
 */
export const createSignIns = (
  issuers: readonly ExternalIssuer[],
  consoles: readonly string[],
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): ReadonlyMap<string, SignIn> =>
  new Map(
    issuers.flatMap(({ issuer, audience, organizations, signIn }) => {
      if (signIn === undefined) return []
      const { name, token, ...registration } = signIn
      const id = issuerIdOf(issuer)
      const redirectUris = consoles.map((url) => `${new URL(url).origin}${consolePath}?issuer=${id}`)
      // Of its own, so that no issuer waits for the calls to another one.
      const runInShare = createShares(clock, issuerShare)
      const client = createOpenIdClient({ ...registration, issuer }, { clock, log, runInShare })
      return [[issuer, { id, name, token, issuer, audience, organizations, redirectUris, client }] as const]
    }),
  )
