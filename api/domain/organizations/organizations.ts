import { and, eq, getTableColumns, inArray, isNull, sql } from 'drizzle-orm'
import { authoriseCall } from '#api/domain/access/authorise.ts'
import type { Context, LockRevision } from '#api/domain/access/context.ts'
import type { Limits, PatchLimits } from '#api/domain/access/limits.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { listOrder, whereAfterCursor } from '#api/platform/database/page.ts'
import { readPage } from '#api/platform/database/readPage.ts'
import { statement } from '#api/platform/database/statement.ts'
import { type Page, type Paged, toPaged } from '#api/platform/http/page.ts'
import { found, Problem } from '#api/platform/http/problem.ts'
import { createOnce } from '#api/platform/idempotency/once.ts'
import { markAllDirty, organizationMark } from '#api/platform/outbox/outbox.ts'
import { pathOf, reachableChildren, strongestVerb } from '#shared/domain/permissions.ts'
import { limitsOf } from './limits.ts'
import { presentOrganization, presentPublicly } from './present.ts'
import type {
  CreateOrganization,
  Features,
  OrganizationAnswer,
  PatchOrganization,
  PublicOrganization,
} from './schema.ts'
import { type OrganizationRow, organizations } from './table.ts'

/** Creates an organization. Gives the caller's key full access to it. */
export const createOrganization = async (
  ctx: Context,
  input: CreateOrganization,
): Promise<{ organizationId: string; features: Features }> => {
  authoriseCall(ctx.principal, { claim: 'createOrganization' })
  const { features = {}, ...rest } = input
  const created = await createOnce(ctx, async (tx, now) => {
    const id = ctx.newId('organization')
    const createdBy = await ctx.ancestorOf(tx, ctx.principal)
    if (createdBy !== null) await refuseTooMany(ctx, tx, createdBy)
    const row = { id, tenantId: id, ...rest, features, createdBy, createdAt: now, updatedAt: now }
    await tx.insert(organizations).values(row)
    await ctx.grantToKey(tx, ctx.principal.id, `${pathOf(id)}/**:*`, now)
    return { organizationId: id, features }
  })
  ctx.keys.forget(ctx.principal.id)
  return created
}

const { groupMappings: _, limits: __, ...shownColumns } = getTableColumns(organizations)

/** Returns a page of the organizations on which the caller has a verb, oldest first. */
export const listOrganizations = async (ctx: Context, page: Page): Promise<Paged<OrganizationAnswer>> => {
  const { permissions } = ctx.principal
  const reachable = reachableChildren(permissions, '')
  const ids = reachable === 'all' ? undefined : reachable.filter((id) => strongestVerb(permissions, pathOf(id)))
  const read = await readPage(ctx, shownColumns, {
    from: organizations,
    where: and(
      isNull(organizations.deletingAt),
      ids && inArray(organizations.id, ids),
      whereAfterCursor(organizations, page),
    ),
    orderBy: listOrder(organizations),
    limit: page.limit,
  })
  const { items, ...next } = toPaged(read)
  const verbOn = (id: string) => strongestVerb(permissions, pathOf(id)) ?? 'r'
  return { ...next, items: items.map((row) => presentOrganization(row, verbOn(row.id))) }
}

/** Returns the public fields of the organization of the headers. */
export const getPublicOrganization = async (ctx: Context): Promise<{ body: PublicOrganization; revision: number }> => {
  const row = await find(ctx)
  return { body: presentPublicly(row, ctx.supportedProviders), revision: row.revision }
}

/** Locks the organization of the headers and returns its revision. */
export const lockOrganizationRevision: LockRevision = async (tx, ctx) => {
  const { revision } = organizations
  const [row] = await tx.select({ revision }).from(organizations).where(whereOrganization(ctx)).for('no key update')
  return row?.revision
}

/** Changes an organization. Omitted fields stay unchanged. Several organizations may have the same tenantId. */
export const patchOrganization = async (ctx: Context, changes: PatchOrganization): Promise<void> => {
  await ctx.db.transaction((tx) => update(tx, ctx, changes))
}

/** Saves the URL of an organization's picture. `previous` is the previous URL, or null. */
export const setOrganizationPicture = async (
  ctx: Context,
  pictureUrl: string,
): Promise<{ answer: OrganizationAnswer; previous: string | null }> =>
  ctx.db.transaction(async (tx) => {
    const before = found(await tx.select().from(organizations).where(whereOrganization(ctx)).for('update'))
    const row = await update(tx, ctx, { pictureUrl })
    return { answer: presentOrganization(row, ctx.verb ?? 'r'), previous: before.pictureUrl }
  })

/** Sets limits of an organization. Needs the platform key. Returns all its limits. */
export const patchLimits = async (ctx: Context, changes: PatchLimits): Promise<Limits> => {
  authoriseCall(ctx.principal, { platformOnly: true })
  const limits = sql`${organizations.limits} || ${JSON.stringify(changes)}::jsonb`
  const row = await ctx.db.transaction(async (tx) => {
    const changed = await update(tx, ctx, { limits })
    await markOrganization(ctx, tx, changed)
    return changed
  })
  ctx.wakeSync()
  return limitsOf(ctx.defaultLimits, row)
}

/** Marks an organization dirty in each cluster, so that its limits and the state of its row reach its namespaces. */
export const markOrganization = (
  { clusterNames, traceparent }: Pick<Context, 'clusterNames' | 'traceparent'>,
  tx: Transaction,
  { id, revision }: Pick<OrganizationRow, 'id' | 'revision'>,
): Promise<void> =>
  markAllDirty(
    tx,
    'organization',
    clusterNames().map((cluster) => ({ id: organizationMark(id, cluster), revision })),
    traceparent,
  )

type Locking = Pick<Context, 'organizationId' | 'defaultLimits'>

/** Returns the limits of the organization of the headers. Locks its row until the transaction ends. */
export const lockLimits = async (ctx: Locking, tx: Transaction): Promise<Limits> => (await lockSettings(ctx, tx)).limits

/** Returns the limits of an organization and its default for new worlds. Locks its row until the transaction ends. */
export const lockSettings = async (
  { organizationId, defaultLimits }: Locking,
  tx: Transaction,
): Promise<{ limits: Limits; idleStopMinutes: number | null }> => {
  const { limits, idleStopMinutes } = found(await selectSettings(tx, { organizationId }))
  return { limits: limitsOf(defaultLimits, { limits: JSON.parse(limits) as Partial<Limits> }), idleStopMinutes }
}

// A statement, because each create and each start takes this lock.
const selectSettings = statement<{ organizationId: string }, { limits: string; idleStopMinutes: number | null }>(sql`
  select limits, idle_stop_minutes as "idleStopMinutes" from organizations
  where id = ${sql.placeholder('organizationId')} and deleting_at is null
  for no key update`)

/** Throws a 409 if the chain of keys has reached its limit. The lock serializes creations by the same chain. */
const refuseTooMany = async (ctx: Context, tx: Transaction, ancestorId: string): Promise<void> => {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`organizations of ${ancestorId}`}, 0))`)
  const existing = await tx.$count(organizations, eq(organizations.createdBy, ancestorId))
  const limit = ctx.maxOrganizationsPerKey
  if (existing < limit) return
  throw new Problem(
    'limit_reached',
    `The key and the keys that it created have made ${existing} organizations. The limit is ${limit}. Ask the platform operator to raise it.`,
  )
}

const whereOrganization = ({ organizationId }: Pick<Context, 'organizationId'>) =>
  and(eq(organizations.id, organizationId), isNull(organizations.deletingAt))

type Changes = Parameters<ReturnType<Context['db']['update']>['set']>[0]

const update = async (tx: Transaction, ctx: Context, changes: Changes): Promise<OrganizationRow> => {
  const touched = { ...changes, revision: sql`${organizations.revision} + 1`, updatedAt: new Date(ctx.clock.now()) }
  return found(await tx.update(organizations).set(touched).where(whereOrganization(ctx)).returning())
}

const find = async (ctx: Context): Promise<OrganizationRow> =>
  found(await ctx.db.select().from(organizations).where(whereOrganization(ctx)))
