import type { Context } from '#api/domain/access/context.ts'
import { type Conditions, checkConditions, refuseTags } from '#api/platform/http/entityTag.ts'
import { withFirstCheck } from '#api/platform/idempotency/firstCheck.ts'
import type { Endpoint } from './endpoint.ts'

/**
 * Returns the parts of the context with which a write checks If-Match and If-None-Match (RFC 9110, section 13): at the start of its
 * first transaction, or, if it supports Idempotency-Key, when `createOnce` knows that it is not a repetition. Returns undefined if there
 * is nothing to check. Throws a 412 for If-Match of a resource without an entity tag. Reads are checked with their response.
 */
export const checkInTransaction = (
  ctx: Context,
  { method, lockRevision, idempotent }: Endpoint,
  params: Readonly<Record<string, string>>,
  conditions: Conditions,
): Pick<Context, 'db' | 'checkConditions'> | undefined => {
  if (method === 'get' || (conditions.ifMatch ?? conditions.ifNoneMatch) === undefined) return undefined
  if (lockRevision === undefined) {
    refuseTags(conditions)
    return undefined
  }
  const check: Context['checkConditions'] = async (tx) => {
    const revision = await lockRevision(tx, ctx, params)
    // A request without conditions gets 404 for an absent resource, and only a PUT creates it.
    if (revision !== undefined || method === 'put') checkConditions(conditions, revision)
  }
  return { checkConditions: check, db: idempotent ? ctx.db : withFirstCheck(ctx.db, check) }
}
