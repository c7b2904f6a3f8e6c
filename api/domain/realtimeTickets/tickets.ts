import { and, eq, gt, lt, sql } from 'drizzle-orm'
import type { Context, Deps } from '#api/domain/access/context.ts'
import type { CredentialHeader } from '#api/platform/auth/authenticate.ts'
import { callerName } from '#api/platform/auth/principal.ts'
import type { Database } from '#api/platform/database/client.ts'
import { notFound, Problem } from '#api/platform/http/problem.ts'
import { hashOfTicket, isTicket, newTicket } from '#api/platform/secrets/ticket.ts'
import type { CreatedTicket } from './schema.ts'
import { realtimeTickets } from './table.ts'

const validSeconds = 30
/** The open tickets of a caller and of an organization, on all replicas. Concurrent requests may exceed them by their number. */
const maxPerCaller = 1_000
const maxPerOrganization = 10_000
/** The longest value of a header with a credential that a ticket may stand for. */
const maxCredentialLength = 8_192

const contextOf = (organizationId: string, hash: string): string => `realtime-ticket/${organizationId}/${hash}`

/**
 * Creates a ticket that stands for the credential of the request in one realtime handshake. Throws a 400 for a credential that is too
 * long, and a 429 if the caller or the organization has too many open tickets.
 */
export const createTicket = async (ctx: Context): Promise<CreatedTicket> => {
  const { organizationId } = ctx
  const header = ctx.credentialHeader()
  checkLength(header)
  const ticket = newTicket()
  const hash = hashOfTicket(ticket)
  const caller = callerName(ctx.principal)
  const sealed = ctx.sealer.seal(JSON.stringify(header), contextOf(organizationId, hash))
  // Expired rows count until they are deleted, so that the limits bound the table.
  const { rows } = await ctx.db.execute<{ expiresAt: string | null; ofCaller: number; ofOrganization: number }>(sql`
    with open as (
      select count(*)::int as total, count(*) filter (where caller = ${caller})::int as own
      from realtime_tickets where organization_id = ${organizationId}),
    made as (
      insert into realtime_tickets (hash, organization_id, caller, sealed, expires_at)
      select ${hash}, id, ${caller}, ${sealed}, now() + ${validSeconds} * interval '1 second'
      from organizations, open where id = ${organizationId} and deleting_at is null
        and own < ${maxPerCaller} and total < ${maxPerOrganization}
      returning expires_at)
    select (select expires_at from made) as "expiresAt", own as "ofCaller", total as "ofOrganization" from open`)
  const [{ expiresAt, ofCaller, ofOrganization } = { expiresAt: null, ofCaller: 0, ofOrganization: 0 }] = rows
  if (expiresAt !== null) return { ticket, expiresAt: new Date(expiresAt).toISOString() }
  if (ofCaller >= maxPerCaller)
    throw tooMany(`The credential has ${maxPerCaller.toLocaleString('en')} open realtime tickets.`)
  if (ofOrganization >= maxPerOrganization)
    throw tooMany(`The organization has ${maxPerOrganization.toLocaleString('en')} open realtime tickets.`)
  throw notFound()
}

const tooMany = (reason: string): Problem => {
  const detail = `${reason} A handshake ends its ticket. Connect with the open ones, or retry after the time in Retry-After.`
  return new Problem('rate_limited', detail, { headers: { 'retry-after': String(validSeconds) } })
}

const checkLength = ([name, { length }]: CredentialHeader = ['authorization', '']): void => {
  if (length <= maxCredentialLength) return
  const message = `has ${length} characters, and a ticket stands for at most ${maxCredentialLength}`
  const advice = 'Use a token with fewer claims, or send it in the handshake itself.'
  throw new Problem('invalid_request', `The header ${name} ${message}. ${advice}`, {
    errors: [{ path: name, message }],
  })
}

/**
 * Ends a ticket and returns the header with the credential that it stands for. Returns undefined if the ticket was used, has expired or
 * is of another organization. Of concurrent calls, on all replicas, one gets the credential.
 */
export const useTicket = async (
  { db, sealer }: Pick<Deps, 'db' | 'sealer'>,
  { ticket, organizationId }: { readonly ticket: string; readonly organizationId: string },
): Promise<CredentialHeader | undefined> => {
  if (!isTicket(ticket)) return undefined
  const hash = hashOfTicket(ticket)
  const [row] = await db
    .delete(realtimeTickets)
    .where(
      and(
        eq(realtimeTickets.hash, hash),
        eq(realtimeTickets.organizationId, organizationId),
        gt(realtimeTickets.expiresAt, sql`now()`),
      ),
    )
    .returning({ sealed: realtimeTickets.sealed })
  return row && (JSON.parse(sealer.open(row.sealed, contextOf(organizationId, hash))) as CredentialHeader)
}

/** Deletes expired tickets. */
export const deleteExpiredTickets = async (db: Database): Promise<void> => {
  await db.delete(realtimeTickets).where(lt(realtimeTickets.expiresAt, sql`now()`))
}
