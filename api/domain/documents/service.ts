import { and, eq, getTableColumns, isNull, sql } from 'drizzle-orm'
import type { Context } from '#api/domain/access/context.ts'
import type { DocumentUsage, Limits } from '#api/domain/access/limits.ts'
import type { ScopeIds } from '#api/domain/access/scope.ts'
import { scopeExistsIn } from '#api/domain/scopes/service.ts'
import { notFound, Problem } from '#api/platform/http/problem.ts'
import type { DocumentType } from '#shared/enumerations.ts'
import type { DocumentAnswer } from './schema.ts'
import { type Place, placeOf } from './scope.ts'
import { shareScope } from './sweep/service.ts'
import { type DocumentRow, documents } from './table.ts'

/** What a write works with. */
type WriteContext = Pick<Context, 'db' | 'clock' | 'principal' | 'documentCounts' | keyof ScopeIds> & {
  readonly cachedLimits: (organizationId: string) => DocumentLimits
}
type DocumentLimits = Pick<Limits, 'maxDocuments' | 'maxDocumentBytes'>
type Named = { readonly type: DocumentType; readonly id: string }

/** Reads a document. */
export const getDocument = async (ctx: Context, named: Named): Promise<DocumentAnswer> => {
  const place = placeOf(ctx, named.id)
  const [row] = await ctx.db
    .select()
    .from(documents)
    .where(and(whereDocument(place, named.type), isNull(documents.deletedAt)))
  // A project or world that is being deleted is absent with all that is in it; of very many documents some end later.
  if (row === undefined || !(await ctx.scopeExists(place.kind, place))) throw notFound()
  return present(named, row)
}

/**
 * Writes a document whole. Its version is later than any that it had. Who may not write what it holds now may not
 * replace it either.
 */
export const putDocument = async (
  ctx: WriteContext,
  named: Named,
  input: { data: Record<string, unknown>; userId?: string },
): Promise<DocumentAnswer> => {
  const userId = ownerOf(ctx, named.type, input)
  return present(named, await write(ctx, named, { userId, data: input.data, deletedAt: null }))
}

/** Deletes a document: it is absent, and its followers get empty data with a new version. */
export const deleteDocument = async (ctx: Context, named: Named): Promise<void> => {
  await write(ctx, named, { userId: '', data: {}, deletedAt: new Date(ctx.clock.now()) })
}

/** Who a document belongs to, or will; throws a 403 where the caller may not write it. */
const ownerOf = (
  { principal }: WriteContext,
  type: DocumentType,
  { data, userId }: { data: Record<string, unknown>; userId?: string },
): string => {
  if (type === 'kvStore' && data.store === 'kvstoreServer' && !principal.claims.includes('worldServer')) {
    throw new Problem('forbidden', 'The store kvstoreServer is written by keys with the claim worldServer.')
  }
  if (principal.kind === 'user' && userId !== undefined && userId !== principal.id) {
    throw new Problem('forbidden', "A user's token writes documents of its own subject alone.")
  }
  return userId ?? principal.id
}

const write = async (
  ctx: WriteContext,
  named: Named,
  row: Pick<DocumentRow, 'userId' | 'data' | 'deletedAt'>,
): Promise<DocumentRow> => {
  const place = placeOf(ctx, named.id)
  const now = new Date(ctx.clock.now())
  const { organizationId, projectId, worldId, id } = place
  // Two writes within a millisecond, or a clock that stepped back, still give two versions in order.
  const version = sql`greatest(${now.toISOString()}::timestamptz, ${documents.version} + interval '1 millisecond')`
  const counted = row.deletedAt === null ? await ctx.documentCounts.of(organizationId) : undefined
  const { written, change } = await ctx.db.transaction(async (tx) => {
    // Writes of one document take turns, also while it has no row that could be locked: of two first writes the second
    // sees the first. Each is one statement, since followers are told of every change of the row.
    const key = JSON.stringify([organizationId, projectId, worldId, named.type, id])
    await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${key}, 0))`)
    await shareScope(tx, place)
    // Asked only now: who deletes the scope has either not begun, and waits, or is done.
    if (!(await scopeExistsIn(tx, place.kind, place))) throw notFound()
    const [before] = await tx.select(sized).from(documents).where(whereDocument(place, named.type))
    const isAbsent = before === undefined || before.deletedAt !== null
    if (isAbsent && row.deletedAt !== null) throw notFound()
    if (!isAbsent) ownerOf(ctx, named.type, before)
    if (counted !== undefined) refuseAbove(ctx.cachedLimits(organizationId), counted, isAbsent)
    const [written] = await tx
      .insert(documents)
      .values({ organizationId, projectId, worldId, type: named.type, id, ...row, version: now })
      .onConflictDoUpdate({
        target: [documents.organizationId, documents.projectId, documents.worldId, documents.type, documents.id],
        set: { ...row, version },
      })
      .returning(sized)
    if (written === undefined) throw notFound()
    return { written, change: changeOf(isAbsent ? undefined : before, row.deletedAt === null ? written : undefined) }
  })
  ctx.documentCounts.add(organizationId, change)
  return written
}

const sized = { ...getTableColumns(documents), bytes: sql<number>`pg_column_size(${documents.data})` }

type Sized = { readonly bytes: number }

const changeOf = (before: Sized | undefined, after: Sized | undefined): DocumentUsage => ({
  documents: (after ? 1 : 0) - (before ? 1 : 0),
  bytes: (after?.bytes ?? 0) - (before?.bytes ?? 0),
})

/** Refuses a write in an organization that has all its documents or bytes. */
const refuseAbove = (
  { maxDocuments, maxDocumentBytes }: DocumentLimits,
  counted: DocumentUsage,
  isNew: boolean,
): void => {
  if (isNew && counted.documents >= maxDocuments) {
    throw new Problem('limit_reached', `The organization has its ${maxDocuments} documents (maxDocuments).`)
  }
  if (counted.bytes >= maxDocumentBytes) {
    const detail = `The documents of the organization have ${counted.bytes} bytes, the most are ${maxDocumentBytes} (maxDocumentBytes). Delete documents first.`
    throw new Problem('limit_reached', detail)
  }
}

const whereDocument = ({ organizationId, projectId, worldId, id }: Place, type: DocumentType) =>
  and(
    eq(documents.organizationId, organizationId),
    eq(documents.projectId, projectId),
    eq(documents.worldId, worldId),
    eq(documents.type, type),
    eq(documents.id, id),
  )

const present = ({ type, id }: Named, { userId, data, version }: DocumentRow): DocumentAnswer => ({
  userId,
  resource: { type, id },
  data,
  version: version.toISOString(),
})
