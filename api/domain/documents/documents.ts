import { and, eq, isNull, sql } from 'drizzle-orm'
import type { Context, LockRevision } from '#api/domain/access/context.ts'
import type { Limits } from '#api/domain/access/limits.ts'
import type { ScopeIds } from '#api/domain/access/scope.ts'
import { scopeExistsIn } from '#api/domain/scopes.ts'
import { beginsWithReads } from '#api/platform/database/client.ts'
import { notFound, Problem } from '#api/platform/http/problem.ts'
import type { DocumentType } from '#shared/enumerations.ts'
import { lockDocument } from './cleanup.ts'
import type { DocumentAnswer } from './schema.ts'
import { type DocumentRef, resolveDocument } from './scope.ts'
import { type DocumentRow, documents } from './table.ts'
import { type DocumentUsage, readDocumentUsage } from './usage.ts'

/** The part of a context that a write needs. */
type WriteContext = Pick<Context, 'db' | 'clock' | 'principal' | 'verb' | 'countDocumentBytes' | keyof ScopeIds> & {
  readonly cachedLimits: (organizationId: string) => DocumentLimits
}
type DocumentLimits = Pick<Limits, 'maxDocuments' | 'maxDocumentBytes'>
type DocumentName = { readonly type: DocumentType; readonly id: string }

/** Returns a document. Throws a 404 if it or its scope does not exist. */
export const getDocument = async (
  ctx: Context,
  name: DocumentName,
): Promise<{ body: DocumentAnswer; revision: number }> => {
  const document = resolveDocument(ctx, name.id)
  const [row] = await ctx.db
    .select()
    .from(documents)
    .where(and(whereDocument(document, name.type), isNull(documents.deletedAt)))
  // The documents of a deleted project or world are deleted in batches, some of them later.
  if (row === undefined || !(await ctx.scopeExists(document.kind, document))) throw notFound()
  return { body: present(name, row), revision: row.version.getTime() }
}

/** Returns a function that locks a document of a type and returns its version. Throws a 404 if its scope does not exist. */
export const lockDocumentRevision =
  (type: DocumentType): LockRevision =>
  async (tx, ctx, { id = '' }) => {
    const document = resolveDocument(ctx, id)
    const { version } = documents
    // One round trip, as in a write.
    const [, scopeExists, [row]] = await Promise.all([
      lockDocument(tx, { ...document, type }),
      scopeExistsIn(tx, document.kind, document),
      tx
        .select({ version })
        .from(documents)
        .where(and(whereDocument(document, type), isNull(documents.deletedAt)))
        .execute(),
    ])
    if (!scopeExists) throw notFound()
    return row?.version.getTime()
  }

/**
 * Creates or replaces a document. Its version is later than all its previous versions. Throws a 403 if the caller may not
 * write the new or the current content, a 404 if the scope does not exist, and a 429 above the rate of the organization.
 */
export const putDocument = async (
  ctx: WriteContext,
  name: DocumentName,
  input: { data: Record<string, unknown>; userId?: string },
): Promise<DocumentAnswer> => {
  const userId = ownerOf(ctx, name.type, input)
  ctx.countDocumentBytes(Buffer.byteLength(JSON.stringify(input.data)))
  return present(name, await write(ctx, name, { userId, data: input.data, deletedAt: null }))
}

/** Deletes a document. Subscribers get empty data with a new version. Throws like `putDocument`, and a 404 if absent. */
export const deleteDocument = async (ctx: Context, name: DocumentName): Promise<void> => {
  await write(ctx, name, { userId: '', data: {}, deletedAt: new Date(ctx.clock.now()) })
}

/** Returns the owner of a document. Throws a 403 if the caller may not write it. */
const ownerOf = (
  { principal, verb }: WriteContext,
  type: DocumentType,
  { data, userId }: { data: Record<string, unknown>; userId?: string },
): string => {
  if (type === 'kvStore' && data.store === 'kvstoreServer' && !principal.claims.includes('worldServer')) {
    throw new Problem('forbidden', 'Only keys with the claim worldServer may write the store kvstoreServer.')
  }
  if (principal.kind === 'user' && verb !== '*' && userId !== undefined && userId !== principal.id) {
    throw new Problem('forbidden', 'The token may only write documents of its own user. Others need * on the scope.')
  }
  return userId ?? principal.id
}

const write = async (
  ctx: WriteContext,
  name: DocumentName,
  row: Pick<DocumentRow, 'userId' | 'data' | 'deletedAt'>,
): Promise<DocumentRow> => {
  const document = resolveDocument(ctx, name.id)
  const now = new Date(ctx.clock.now())
  const { organizationId, projectId, worldId, id } = document
  // Versions grow even for two writes within a millisecond or after a clock was set back.
  const version = sql`greatest(${now.toISOString()}::timestamptz, ${documents.version} + interval '1 millisecond')`
  const isDeletion = row.deletedAt !== null
  return ctx.db.transaction(async (tx) => {
    // One round trip. Postgres reads under the lock: a deletion of the scope has either finished or not begun.
    const [, scopeExists, [before], counted] = await Promise.all([
      lockDocument(tx, { organizationId, projectId, worldId, type: name.type, id }),
      scopeExistsIn(tx, document.kind, document),
      tx.select().from(documents).where(whereDocument(document, name.type)).execute(),
      isDeletion ? undefined : readDocumentUsage(tx, organizationId),
    ])
    if (!scopeExists) throw notFound()
    const isAbsent = before === undefined || before.deletedAt !== null
    if (isAbsent && isDeletion) throw notFound()
    if (!isAbsent) ownerOf(ctx, name.type, before)
    const isNewRow = before === undefined
    if (counted !== undefined) refuseAbove(ctx.cachedLimits(organizationId), counted, { isAbsent, isNewRow })
    // One statement, since subscribers get every change of the row.
    const [written] = await tx
      .insert(documents)
      .values({ organizationId, projectId, worldId, type: name.type, id, ...row, version: now })
      .onConflictDoUpdate({
        target: [documents.organizationId, documents.projectId, documents.worldId, documents.type, documents.id],
        set: { ...row, version },
      })
      .returning()
    if (written === undefined) throw notFound()
    return written
  }, beginsWithReads)
}

/** The maximum of documents together with the rows of deleted ones, as a multiple of the limits. */
const keptFactor = 2

/** Throws a 409 if the organization has reached its limit of documents or bytes, or keeps too many deleted ones. */
const refuseAbove = (
  { maxDocuments, maxDocumentBytes }: DocumentLimits,
  counted: DocumentUsage,
  { isAbsent, isNewRow }: { isAbsent: boolean; isNewRow: boolean },
): void => {
  const { documents, bytes, keptRows, keptBytes } = counted
  const hasTooManyRows = isNewRow && documents + keptRows >= keptFactor * maxDocuments
  if (hasTooManyRows || bytes + keptBytes >= keptFactor * maxDocumentBytes) {
    const detail = `The organization has ${documents} documents of ${bytes} bytes, and keeps ${keptRows} deleted ones of ${keptBytes} bytes. Together they are at most twice maxDocuments and maxDocumentBytes. Purge deleted worlds and projects, or retry in a day.`
    throw new Problem('limit_reached', detail)
  }
  if (isAbsent && documents >= maxDocuments) {
    throw new Problem(
      'limit_reached',
      `The organization has ${maxDocuments} documents, which is its limit (maxDocuments). Delete documents first.`,
    )
  }
  if (bytes >= maxDocumentBytes) {
    const detail = `The documents of the organization have ${bytes} bytes. The limit is ${maxDocumentBytes} (maxDocumentBytes). Delete documents first.`
    throw new Problem('limit_reached', detail)
  }
}

const whereDocument = ({ organizationId, projectId, worldId, id }: DocumentRef, type: DocumentType) =>
  and(
    eq(documents.organizationId, organizationId),
    eq(documents.projectId, projectId),
    eq(documents.worldId, worldId),
    eq(documents.type, type),
    eq(documents.id, id),
  )

const present = ({ type, id }: DocumentName, { userId, data, version }: DocumentRow): DocumentAnswer => ({
  userId,
  resource: { type, id },
  data,
  version: version.toISOString(),
})
