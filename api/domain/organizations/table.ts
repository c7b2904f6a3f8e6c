import { boolean, integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import type { Limits } from '#api/domain/access/limits.ts'
import { instant } from '#api/platform/database/columns.ts'
import type { Features, LegalPolicies, WebsiteInfo } from './schema.ts'

/** The tenants. */
export const organizations = pgTable('organizations', {
  id: text().primaryKey(),
  name: text().notNull(),
  tenantId: text().notNull().unique(),
  pictureUrl: text(),
  featuredEventId: text(),
  websiteInfo: jsonb().$type<WebsiteInfo>(),
  features: jsonb().$type<Features>().notNull(),
  legalPolicies: jsonb().$type<LegalPolicies>(),
  hasEventEnabled: boolean().notNull().default(false),
  /** What the platform set for this organization; the configuration's defaults hold for the rest. */
  limits: jsonb().$type<Partial<Limits>>().notNull().default({}),
  revision: integer().notNull().default(1),
  createdAt: instant().notNull(),
  updatedAt: instant().notNull(),
})

export type OrganizationRow = typeof organizations.$inferSelect
