import { boolean, index, integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import type { Limits } from '#api/domain/access/limits.ts'
import { instant } from '#api/platform/database/columns.ts'
import type { Features, LegalPolicies, WebsiteInfo } from './schema.ts'

/** The tenants. */
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
    hasEventEnabled: boolean().notNull().default(false),
    /** The limits that the platform set for this organization. The configured defaults apply to the others. */
    limits: jsonb().$type<Partial<Limits>>().notNull().default({}),
    /** The first key in the chain of keys that created the organization; null if the platform key created it. */
    createdBy: text(),
    revision: integer().notNull().default(1),
    createdAt: instant().notNull(),
    updatedAt: instant().notNull(),
  },
  (table) => [index().on(table.tenantId), index().on(table.createdBy)],
)

export type OrganizationRow = typeof organizations.$inferSelect
