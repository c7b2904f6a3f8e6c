import type { Principal } from '#api/platform/auth/principal.ts'
import { notFound, Problem } from '#api/platform/http/problem.ts'
import type { KnownClaim } from './claims.ts'
import type { Context } from './context.ts'
import { includes, reachableChildren, strongestVerb, strongestVerbBeneath, type Verb } from './permissions.ts'

/** The place of a thing in the tree that permissions speak of. */
export const pathOf = (organizationId: string, projectId?: string, worldId?: string): string =>
  [`organizations/${organizationId}`, projectId && `projects/${projectId}`, worldId && `worlds/${worldId}`]
    .filter(Boolean)
    .join('/')

/**
 * The one decision about access. Returns the caller's strongest verb on the node; throws a 404 where it has none, equal
 * to absence, and a 403 where it may read but not do what is needed. With `subtree` the verb must hold beneath it too.
 */
export const authorise = (ctx: Context, path: string, needed: Verb, { subtree = false } = {}): Verb => {
  const { permissions } = ctx.principal
  const held = strongestVerb(permissions, path)
  if (held === undefined) throw notFound()
  const counted = subtree ? strongestVerbBeneath(permissions, path) : held
  if (counted !== undefined && includes(counted, needed)) return held
  const where = subtree ? ' here and on all beneath' : ''
  throw new Problem('forbidden', `This needs the verb ${needed}${where}; the credential holds ${counted ?? held}.`)
}

/** Throws a 403 unless the caller holds the claim that an endpoint needs, and everything where it is for the platform only. */
export const authoriseCall = (
  { claims, permissions }: Principal,
  { claim, platformOnly }: { claim?: KnownClaim; platformOnly?: true },
): void => {
  if (claim !== undefined && !claims.includes(claim)) throw new Problem('forbidden', `This needs the claim ${claim}.`)
  if (platformOnly && !permissions.includes('*')) throw new Problem('forbidden', 'This needs the platform key.')
}

/** Throws a 404 unless the caller has a verb on or beneath the organization of the headers, and its project if one is named. */
export const authoriseListing = ({ principal, organizationId, projectId }: Context): void => {
  const reaches = (parent: string, child: string): boolean => {
    const children = reachableChildren(principal.permissions, parent)
    return children === 'all' || children.includes(child)
  }
  if (!reaches('', organizationId)) throw notFound()
  if (projectId !== '' && !reaches(pathOf(organizationId), projectId)) throw notFound()
}
