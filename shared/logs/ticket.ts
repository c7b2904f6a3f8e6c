import { jwtVerify, SignJWT } from 'jose'
import * as z from 'zod'
import { isId } from '#shared/ids.ts'

/**
 * A permission to read one log or sample, signed by the API. The operator reads what the ticket names and ignores the rest of the
 * request.
 */
export type LogTicket = z.output<typeof ticketSchema>

/**
 * The sources that a ticket can name: the log of a running pod, the tail that the operator kept of a deleted pod, or the newest
 * sample of the CPU and memory of a running pod.
 */
export const logSources = ['pod', 'tail', 'metrics'] as const

const uid = z.string().min(1).max(64)

const ticketSchema = z.strictObject({
  source: z.enum(logSources),
  namespace: z.string().min(1).max(63),
  /** The kind, the name and the uid of the resource that controls the pod. */
  kind: z.enum(['World', 'BotDeployment']),
  name: z.string().min(1).max(63),
  uid,
  /** The run of the pod. */
  runId: z
    .string()
    .refine((id) => isId('run', id))
    .exactOptional(),
  /** The pod. Absent if the API has not seen its uid yet, and for bots, whose pods no status names. */
  podUid: uid.exactOptional(),
  /** The index of the bot. */
  bot: z.int().min(0).max(99_999).exactOptional(),
  follow: z.boolean(),
  sinceSeconds: z.int().min(1).exactOptional(),
  /** RFC 3339. */
  sinceTime: z.string().max(40).exactOptional(),
  /** The number of lines from the end that the answer begins with. */
  tailLines: z.int().min(1).max(100_000).exactOptional(),
})

/** The lifetime of a ticket. */
export const ticketSeconds = 30
/** The tolerated difference between the clocks of the two processes. */
const skewSeconds = 5
const algorithm = 'HS256'
const type = 'orrery-log+jwt'
const issuer = 'orrery-api'

/** The audience of the tickets for the operator of a cluster. */
export const logAudience = (cluster: string): string => `orrery-operator/${cluster}`

const toKey = (secret: string): Uint8Array => new TextEncoder().encode(secret)

/** Signs a ticket (JWT, RFC 7519, with HMAC-SHA-256). Each cluster has its own key. */
export const signTicket = (
  ticket: LogTicket,
  { key, audience, nowMs }: { key: string; audience: string; nowMs: number },
): Promise<string> => {
  const issuedAt = Math.floor(nowMs / 1000)
  return new SignJWT({ log: ticket })
    .setProtectedHeader({ alg: algorithm, typ: type })
    .setIssuer(issuer)
    .setAudience(audience)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + ticketSeconds)
    .sign(toKey(key))
}

/**
 * Returns a ticket that one of the keys signed for this audience within the last 30 seconds. Returns undefined for any other
 * text.
 */
export const verifyTicket = async (
  text: string,
  { keys, audience, nowMs }: { keys: readonly string[]; audience: string; nowMs: number },
): Promise<LogTicket | undefined> => {
  const rules = {
    algorithms: [algorithm],
    typ: type,
    issuer,
    audience,
    maxTokenAge: ticketSeconds,
    clockTolerance: skewSeconds,
    currentDate: new Date(nowMs),
    requiredClaims: ['exp'],
  }
  for (const key of keys) {
    try {
      const { payload } = await jwtVerify(text, toKey(key), rules)
      return ticketSchema.safeParse(payload.log).data
    } catch {
      // The next key may have signed it.
    }
  }
  return undefined
}
