import { boolean, index, integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import type { GroupMapping } from '#api/domain/access/groups.ts'
import type { Limits } from '#api/domain/access/limits.ts'
import { instant } from '#api/platform/database/columns.ts'
import type { Features, LegalPolicies, WebsiteInfo } from './schema.ts'

/** The organizations, which are the tenants. */
export const organizations = pgTable(
  'organizations',
  {
    id: text().primaryKey(),
    name: text().notNull(),
    /** A label that the tenant chooses. It is not unique: a refusal would tell one tenant about another. */
    tenantId: text().notNull(),
    pictureUrl: text(),
    featuredEventId: text(),
    websiteInfo: jsonb().$type<WebsiteInfo>(),
    features: jsonb().$type<Features>().notNull(),
    legalPolicies: jsonb().$type<LegalPolicies>(),
    /** The `idleStopMinutes` of worlds that are created without one; null for none. */
    idleStopMinutes: integer(),
    hasEventEnabled: boolean().notNull().default(false),
    /** The limits that the platform set for this organization. The configured defaults apply to the others. */
    limits: jsonb().$type<Partial<Limits>>().notNull().default({}),
    /** The permissions of groups of external issuers. */
    groupMappings: jsonb().$type<readonly GroupMapping[]>().notNull().default([]),
    /** The first key in the chain of keys that created the organization; null if the platform key created it. */
    createdBy: text(),
    revision: integer().notNull().default(1),
    /** The time of the deletion request. From then on no response shows the organization, and its keys are invalid. */
    deletingAt: instant(),
    /** The time from which a deleted row is erased; until then it can be restored. Null means at once. */
    purgeAt: instant(),
    createdAt: instant().notNull(),
    updatedAt: instant().notNull(),
  },
  (table) => [index().on(table.tenantId), index().on(table.createdBy)],
)

export type OrganizationRow = typeof organizations.$inferSelect
