import { boolean, integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import { instant } from '#api/db/columns.ts'
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
  revision: integer().notNull().default(1),
  createdAt: instant().notNull(),
  updatedAt: instant().notNull(),
})
