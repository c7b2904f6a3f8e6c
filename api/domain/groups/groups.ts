import { and, eq, isNull } from 'drizzle-orm'
import { refuseRestricted } from '#api/domain/access/authorise.ts'
import type { Context, LockRevision } from '#api/domain/access/context.ts'
import type { GroupMapping } from '#api/domain/access/groups.ts'
import { permissionsWithin } from '#api/domain/access/permissions.ts'
import { maySignFor } from '#api/domain/access/token.ts'
import { organizations } from '#api/domain/organizations/table.ts'
import { type Revision, revisionOf } from '#api/platform/http/entityTag.ts'
import { createFaultList } from '#api/platform/http/faults.ts'
import { notFound, Problem } from '#api/platform/http/problem.ts'
import { mayGrant } from '#shared/domain/permissions.ts'
import type { Groups } from './schema.ts'

/** The maximum number of issuers that a message names. */
const maxNamedIssuers = 5

/** Returns the group mappings of the organization. */
export const getGroups = async (ctx: Context): Promise<{ body: Groups; revision: Revision }> => {
  const [row] = await ctx.db
    .select({ groups: organizations.groupMappings })
    .from(organizations)
    .where(whereOrganization(ctx))
  if (row === undefined) throw notFound()
  return { body: { groups: [...row.groups] }, revision: revisionOf(row.groups) }
}

/** Locks the group mappings of the organization and returns their revision. */
export const lockGroupsRevision: LockRevision = async (tx, ctx) => {
  const groups = organizations.groupMappings
  const [row] = await tx.select({ groups }).from(organizations).where(whereOrganization(ctx)).for('no key update')
  return row && revisionOf(row.groups)
}

/**
 * Replaces the group mappings of the organization. Every replica applies them within a second, also to open connections. Throws
 * a 403 for permissions that the caller lacks or that lie outside the organization, and for new permissions from a caller that
 * expires or is valid in some networks only. Throws a 400 for an issuer that may not sign tokens for the organization.
 */
export const putGroups = async (ctx: Context, { groups }: Groups): Promise<Groups> => {
  refuseEscalation(
    ctx,
    groups.flatMap(({ permissions }) => permissions),
  )
  refuseUnknownIssuers(ctx, groups)
  await ctx.db.transaction(async (tx) => {
    const [row] = await tx
      .select({ present: organizations.groupMappings })
      .from(organizations)
      .where(whereOrganization(ctx))
      .for('no key update')
    if (row === undefined) throw notFound()
    if (hasAdditions(row.present, groups)) refuseRestricted(ctx.principal, 'new permissions of groups')
    await tx
      .update(organizations)
      .set({ groupMappings: groups, updatedAt: new Date(ctx.clock.now()) })
      .where(whereOrganization(ctx))
  })
  ctx.tokens.forget(ctx.organizationId)
  return { groups }
}

/** Reports whether a group gets a permission that it does not have yet. */
const hasAdditions = (present: readonly GroupMapping[], groups: readonly GroupMapping[]): boolean => {
  const nameOf = ({ issuer, group }: GroupMapping, permission: string) => JSON.stringify([issuer, group, permission])
  const namesOf = (mapping: GroupMapping) => mapping.permissions.map((permission) => nameOf(mapping, permission))
  const existing = new Set(present.flatMap(namesOf))
  return !groups.flatMap(namesOf).every((each) => existing.has(each))
}

const refuseEscalation = ({ principal, organizationId }: Context, permissions: readonly string[]): void => {
  const within = new Set(permissionsWithin(organizationId, permissions))
  const excess = permissions.filter((each) => !within.has(each) || !mayGrant(principal.permissions, each))
  if (excess.length === 0) return
  const detail = `The credential cannot grant permissions that it lacks or that lie outside the organization: ${excess.join(', ')}.`
  throw new Problem('forbidden', detail)
}

const refuseUnknownIssuers = (
  { externalIssuers, organizationId }: Context,
  groups: readonly Pick<GroupMapping, 'issuer'>[],
): void => {
  const known = externalIssuers.filter((each) => maySignFor(each, organizationId)).map(({ issuer }) => issuer)
  const accepted = known.length === 0 ? 'It accepts none' : `It accepts ${known.slice(0, maxNamedIssuers).join(', ')}`
  const faults = createFaultList()
  for (const [at, { issuer }] of groups.entries()) {
    if (known.includes(issuer)) continue
    faults.add(
      ['groups', at, 'issuer'],
      `must be an issuer whose tokens the platform accepts for the organization. ${accepted}.`,
    )
  }
  if (faults.total() > 0) throw faults.toProblem()
}

const whereOrganization = ({ organizationId }: Context) =>
  and(eq(organizations.id, organizationId), isNull(organizations.deletingAt))
