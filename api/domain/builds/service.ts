import { and, count, desc, eq } from 'drizzle-orm'
import type { Context } from '#api/domain/access/context.ts'
import { organizations } from '#api/domain/organizations/table.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { optional } from '#api/platform/http/fields.ts'
import { notFound, Problem } from '#api/platform/http/problem.ts'
import type { BuildAnswer, BuildPackage, BuildReference, PutBuild, ResolvedBuild } from './schema.ts'
import { type BuildRow, builds } from './table.ts'

/** How many builds an organization may have. */
const maxBuilds = 10_000

type Name = { channelId: string; tag: string }

/** Reads what a channel and a tag stand for. */
export const getBuild = async (ctx: Context, name: Name): Promise<BuildAnswer> => {
  const [row] = await ctx.db.select().from(builds).where(whereBuild(ctx.organizationId, name))
  if (row === undefined) throw notFound()
  return present(row)
}

/** Sets what a channel and a tag stand for. The same again changes nothing; anything else is a new build id. */
export const putBuild = async (ctx: Context, name: Name, input: PutBuild): Promise<BuildAnswer> =>
  ctx.db.transaction(async (tx) => {
    const { organizationId } = ctx
    const mine = eq(organizations.id, organizationId)
    await tx.select({ id: organizations.id }).from(organizations).where(mine).for('no key update')
    const [before] = await tx.select().from(builds).where(whereBuild(organizationId, name))
    if (before !== undefined && isSame(before, input)) return present(before)
    const [found] = await tx.select({ present: count() }).from(builds).where(eq(builds.organizationId, organizationId))
    if (before === undefined && (found?.present ?? 0) >= maxBuilds) {
      throw new Problem('limit_reached', `An organization has at most ${maxBuilds} builds.`)
    }
    const { digest = null, ...rest } = input
    const row = { ...rest, digest, id: ctx.newId('build'), createdAt: new Date(ctx.clock.now()) }
    await tx
      .insert(builds)
      .values({ organizationId, ...name, ...row })
      .onConflictDoUpdate({ target: [builds.organizationId, builds.channelId, builds.tag], set: row })
    return present({ organizationId, ...name, ...row })
  })

/** Forgets what a channel and a tag stand for; running worlds keep the build that they were started with. */
export const deleteBuild = async (ctx: Context, name: Name): Promise<void> => {
  const gone = await ctx.db.delete(builds).where(whereBuild(ctx.organizationId, name)).returning({ id: builds.id })
  if (gone.length === 0) throw notFound()
}

/** Throws a 422 where a build cannot be resolved, for a world of the project of the headers. */
export const resolveBuildAndContent = async (ctx: Context, reference: BuildReference): Promise<void> => {
  if (!(await ctx.scopeExists('project', { ...ctx, worldId: '' }))) throw notFound()
  await resolveBuild(ctx.db, ctx.organizationId, reference)
}

/**
 * Resolves a reference to the one package that it stands for now: by channel and tag, or by content the newest build
 * that holds it. Null where there is no reference: the operator's default image. Throws a 422 that says what is missing.
 */
export const resolveBuild = async (
  db: Database | Transaction,
  organizationId: string,
  reference: BuildReference | undefined,
): Promise<(ResolvedBuild & BuildPackage) | null> => {
  if (reference === undefined) return null
  const named =
    'tag' in reference
      ? whereBuild(organizationId, reference)
      : and(eq(builds.organizationId, organizationId), eq(builds.contentId, reference.content.id))
  const [row] = await db.select().from(builds).where(named).orderBy(desc(builds.createdAt), desc(builds.id)).limit(1)
  if (row === undefined) throw await unresolved(db, organizationId, reference)
  const { id, channelId, tag, image, digest, contentId, probes } = row
  return {
    id,
    channelId,
    tag,
    organizationId,
    image: digest === null ? image : `${image}@${digest}`,
    contentId,
    probes,
  }
}

const unresolved = async (db: Database | Transaction, organizationId: string, reference: BuildReference) => {
  if (!('tag' in reference)) return new Problem('build_unresolved', 'No build of the organization holds this content.')
  const inChannel = and(eq(builds.organizationId, organizationId), eq(builds.channelId, reference.channelId))
  const [channel] = await db.select({ id: builds.id }).from(builds).where(inChannel).limit(1)
  return new Problem(
    'build_unresolved',
    channel === undefined
      ? 'The organization has no build in this channel.'
      : 'The channel has no build with this tag.',
  )
}

const whereBuild = (organizationId: string, { channelId, tag }: Name) =>
  and(eq(builds.organizationId, organizationId), eq(builds.channelId, channelId), eq(builds.tag, tag))

const isSame = (row: BuildRow, { image, contentId, digest, probes }: PutBuild): boolean =>
  row.image === image && row.contentId === contentId && row.digest === (digest ?? null) && row.probes === probes

const present = ({ digest, createdAt, ...row }: BuildRow): BuildAnswer => ({
  ...row,
  ...optional('digest', digest),
  createdAt: createdAt.toISOString(),
})
