import type { Context } from '#api/context.ts'
import { notFound, Problem } from '#api/errors.ts'
import { includes, strongestVerb, type Verb } from './permissions.ts'

/** The place of a thing in the tree that permissions speak of. */
export const pathOf = (organizationId: string, projectId?: string, worldId?: string): string =>
  [`organizations/${organizationId}`, projectId && `projects/${projectId}`, worldId && `worlds/${worldId}`]
    .filter(Boolean)
    .join('/')

/**
 * The one decision about access. Returns the caller's strongest verb on the node; throws a 404 where it has none, equal
 * to absence, and a 403 where it may read but not do what is needed.
 */
export const authorise = (ctx: Context, path: string, needed: Verb): Verb => {
  const held = strongestVerb(ctx.principal.permissions, path)
  if (held === undefined) throw notFound()
  if (!includes(held, needed)) throw new Problem('forbidden', `This needs the verb ${needed}; the key holds ${held}.`)
  return held
}
