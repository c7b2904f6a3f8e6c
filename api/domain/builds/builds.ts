import { and, desc, eq } from 'drizzle-orm'
import type { Context, LockRevision } from '#api/domain/access/context.ts'
import type { Limits } from '#api/domain/access/limits.ts'
import { lockLimits } from '#api/domain/organizations/organizations.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { optional } from '#api/platform/http/fields.ts'
import { found, notFound, Problem } from '#api/platform/http/problem.ts'
import { explainImage } from './image.ts'
import type { BuildAnswer, BuildPackage, BuildReference, PutBuild, ResolvedBuild } from './schema.ts'
import { type BuildRow, builds } from './table.ts'

/** The maximum number of builds of an organization. */
const maxBuilds = 10_000

type BuildName = { channelId: string; tag: string }

/** Reads the build of a channel and tag. */
export const getBuild = async (ctx: Context, name: BuildName): Promise<{ body: BuildAnswer; revision: string }> => {
  const row = found(await ctx.db.select().from(builds).where(whereBuild(ctx.organizationId, name)))
  return { body: toBuildAnswer(row), revision: row.id }
}

/** Locks the build of the path, after its organization, and returns its id. Every change replaces the id. */
export const lockBuildRevision: LockRevision = async (tx, ctx, { channelId = '', tag = '' }) => {
  await lockLimits(ctx, tx)
  const [row] = await tx
    .select({ id: builds.id })
    .from(builds)
    .where(whereBuild(ctx.organizationId, { channelId, tag }))
    .for('update')
  return row?.id
}

/** Sets the build of a channel and tag. An equal input changes nothing; any other creates a build id. */
export const putBuild = async (ctx: Context, name: BuildName, input: PutBuild): Promise<BuildAnswer> =>
  ctx.db.transaction(async (tx) => {
    const { organizationId } = ctx
    checkImage(input.image, await lockLimits(ctx, tx))
    const [before] = await tx.select().from(builds).where(whereBuild(organizationId, name))
    if (before !== undefined && isUnchanged(before, input)) return toBuildAnswer(before)
    const existing = await tx.$count(builds, eq(builds.organizationId, organizationId))
    if (before === undefined && existing >= maxBuilds) {
      const detail = `The organization has ${maxBuilds} builds, which is the maximum. Delete one first.`
      throw new Problem('limit_reached', detail)
    }
    const { digest = null, ...rest } = input
    const row = { ...rest, digest, id: ctx.newId('build'), createdAt: new Date(ctx.clock.now()) }
    await tx
      .insert(builds)
      .values({ organizationId, ...name, ...row })
      .onConflictDoUpdate({ target: [builds.organizationId, builds.channelId, builds.tag], set: row })
    return toBuildAnswer({ organizationId, ...name, ...row })
  })

/** Throws a 403 if servers of the organization may not run the image. */
const checkImage = (image: string, limits: Limits): void => {
  const refusal = explainImage(image, limits)
  if (refusal !== undefined) throw new Problem('image_not_allowed', refusal)
}

/** Deletes the build of a channel and tag. Active runs keep their build. */
export const deleteBuild = async (ctx: Context, name: BuildName): Promise<void> => {
  await ctx.db.transaction(async (tx) => {
    const deleted = await tx.delete(builds).where(whereBuild(ctx.organizationId, name)).returning({ id: builds.id })
    if (deleted.length === 0) throw notFound()
  })
}

/** Throws a 422 if a reference cannot be resolved, and a 404 if the project of the headers does not exist. */
export const resolveBuildAndContent = async (ctx: Context, reference: BuildReference): Promise<void> => {
  if (!(await ctx.scopeExists('project', { ...ctx, worldId: '' }))) throw notFound()
  await resolveBuild(ctx.db, ctx.organizationId, reference)
}

/**
 * Resolves a reference to the current build of a channel and tag, or to the newest build with the content. Returns null
 * without a reference; the operator then uses its default image. Throws a 422 if no build matches.
 */
export const resolveBuild = async (
  db: Database | Transaction,
  organizationId: string,
  reference: BuildReference | undefined,
): Promise<(ResolvedBuild & BuildPackage) | null> => {
  if (reference === undefined) return null
  const whereReferenced =
    'tag' in reference
      ? whereBuild(organizationId, reference)
      : and(eq(builds.organizationId, organizationId), eq(builds.contentId, reference.content.id))
  const [row] = await db
    .select()
    .from(builds)
    .where(whereReferenced)
    .orderBy(desc(builds.createdAt), desc(builds.id))
    .limit(1)
  if (row === undefined) throw await toUnresolvedProblem(db, organizationId, reference)
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

/** Resolves a reference as `resolveBuild` does. Returns the sentence of the 422 if no build matches. */
export const findBuild = async (
  ...request: Parameters<typeof resolveBuild>
): Promise<Awaited<ReturnType<typeof resolveBuild>> | string> => {
  try {
    return await resolveBuild(...request)
  } catch (error) {
    if (error instanceof Problem) return error.message
    throw error
  }
}

const toUnresolvedProblem = async (db: Database | Transaction, organizationId: string, reference: BuildReference) => {
  if (!('tag' in reference)) {
    const detail = `No build of the organization has the content ${reference.content.id}. Put a build with it first.`
    return new Problem('build_unresolved', detail)
  }
  const { channelId, tag } = reference
  const whereChannel = and(eq(builds.organizationId, organizationId), eq(builds.channelId, channelId))
  const [channel] = await db.select({ id: builds.id }).from(builds).where(whereChannel).limit(1)
  return new Problem(
    'build_unresolved',
    channel === undefined
      ? `The organization has no build in the channel ${channelId}. Put a build there first.`
      : `The channel ${channelId} has no build with the tag ${tag}. Put one there first.`,
  )
}

const whereBuild = (organizationId: string, { channelId, tag }: BuildName) =>
  and(eq(builds.organizationId, organizationId), eq(builds.channelId, channelId), eq(builds.tag, tag))

const isUnchanged = (row: BuildRow, { image, contentId, digest, probes }: PutBuild): boolean =>
  row.image === image && row.contentId === contentId && row.digest === (digest ?? null) && row.probes === probes

const toBuildAnswer = ({ digest, createdAt, ...row }: BuildRow): BuildAnswer => ({
  ...row,
  ...optional('digest', digest),
  createdAt: createdAt.toISOString(),
})
