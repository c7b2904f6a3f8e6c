import type { Credential } from '#api/platform/auth/authenticate.ts'
import { isRestricted, type Principal } from '#api/platform/auth/principal.ts'
import { notFound, Problem } from '#api/platform/http/problem.ts'
import {
  includes,
  pathOf,
  reachableChildren,
  strongestVerb,
  strongestVerbBeneath,
  type Verb,
} from '#shared/domain/permissions.ts'
import type { KnownClaim } from './claims.ts'
import type { Context } from './context.ts'

/**
 * Returns the caller's strongest verb on a scope. Throws the same 404 as for an absent scope if the caller has no verb,
 * and a 403 if its verb is too weak. With `subtree`, the caller needs the verb on all scopes below as well.
 */
export const authorise = (ctx: Context, path: string, needed: Verb, { subtree = false } = {}): Verb => {
  const { permissions } = ctx.principal
  const held = strongestVerb(permissions, path)
  if (held === undefined) throw notFound()
  const effective = subtree ? strongestVerbBeneath(permissions, path) : held
  if (effective !== undefined && includes(effective, needed)) return held
  const where = subtree ? 'this scope and all scopes below it' : 'this scope'
  throw new Problem(
    'forbidden',
    `The request needs the verb ${needed} on ${where}. The credential has ${effective ?? held}.`,
  )
}

/** Returns the 403 for a user's token where only keys are accepted, or undefined if the kind of credential is accepted. */
export const refusalOfCredential = ({ kind }: Principal, accepted: Credential): Problem | undefined =>
  kind === 'user' && accepted === 'key'
    ? new Problem('forbidden', "The operation accepts only an API key, and the request has a user's token.")
    : undefined

/** Throws a 403 if the credential expires, or is valid in some networks only. `made` names what the request would create. */
export const refuseRestricted = (principal: Principal, made: string): void => {
  if (!isRestricted(principal)) return
  const detail = `The credential expires or is valid in some networks only, and ${made} would not be restricted in this way. Use a key without expiresAt and allowedNetworks.`
  throw new Problem('forbidden', detail)
}

/** Throws a 403 unless the caller has the claim that the endpoint needs and, if `platformOnly`, the permission `*`. */
export const authoriseCall = (
  { claims, permissions }: Principal,
  { claim, platformOnly }: { claim?: KnownClaim; platformOnly?: true },
): void => {
  if (claim !== undefined && !claims.includes(claim)) {
    throw new Problem('forbidden', `The request needs the claim ${claim}.`)
  }
  if (platformOnly && !permissions.includes('*')) throw new Problem('forbidden', 'The request needs the platform key.')
}

/** Throws a 404 unless the caller has a verb on or below the organization of the headers, and the project if named. */
export const authoriseListing = ({ principal, organizationId, projectId }: Context): void => {
  const { permissions } = principal
  if (!canReach(permissions, '', organizationId)) throw notFound()
  if (projectId !== '' && !canReach(permissions, pathOf(organizationId), projectId)) throw notFound()
}

/** Reports whether permissions give a verb on or below a child of `parent`, the path of an organization or ''. */
export const canReach = (permissions: readonly string[], parent: string, child: string): boolean => {
  const children = reachableChildren(permissions, parent)
  return children === 'all' || children.includes(child)
}
