import { sql } from 'drizzle-orm'
import { doublePrecision, foreignKey, index, integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import type { Metadata } from '#api/domain/worlds/schema.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import { instant } from '#api/platform/database/columns.ts'
import { botPhases } from '#shared/enumerations.ts'
import type { BotDeploymentSpec } from '#shared/resources/botDeployment.ts'

/** The bot deployments of worlds: desired state, observed state, and the resource as last applied. */
export const botDeployments = pgTable(
  'bot_deployments',
  {
    id: text().primaryKey(),
    organizationId: text().notNull(),
    projectId: text().notNull(),
    worldId: text().notNull(),
    description: text().notNull(),
    count: integer().notNull(),
    cpu: text().notNull(),
    memory: text().notNull(),
    args: jsonb().$type<string[]>().notNull(),
    durationMinutes: doublePrecision(),
    metadata: jsonb().$type<Metadata>().notNull(),
    /** Grows by one with each change of the desired state. */
    revision: integer().notNull().default(1),
    phase: text({ enum: botPhases }).notNull().default('Pending'),
    statusMessage: text().notNull().default(''),
    startedAt: instant(),
    /** Grows by one with each change of the observed state. */
    statusVersion: integer().notNull().default(0),
    cluster: text().notNull(),
    /** The canonical spec that was last applied or adopted. */
    applied: jsonb().$type<BotDeploymentSpec>(),
    appliedResourceVersion: text(),
    resourceUid: text(),
    /** The time of the deletion request. From then on no response shows the row. It is removed after its resource. */
    deletingAt: instant(),
    createdAt: instant().notNull(),
    updatedAt: instant().notNull(),
  },
  (table) => [
    foreignKey({
      columns: [table.organizationId, table.projectId, table.worldId],
      foreignColumns: [worlds.organizationId, worlds.projectId, worlds.id],
    }),
    index().on(table.worldId, table.createdAt, table.id),
    index().on(table.organizationId, table.worldId),
    index().on(table.cluster).where(sql`${table.resourceUid} is not null`),
  ],
)

export type BotRow = typeof botDeployments.$inferSelect
