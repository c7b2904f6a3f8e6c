import { sql } from 'drizzle-orm'
import { doublePrecision, foreignKey, index, integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import type { Metadata } from '#api/domain/worlds/schema.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import { instant } from '#api/platform/database/columns.ts'
import { botPhases } from '#shared/enumerations.ts'
import type { BotDeploymentSpec } from '#shared/resources/botDeployment.ts'

/** The bot deployments of worlds: what is wanted of each, what is observed, and what is known of its resource. */
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
    /** Rises with each change of what is wanted. */
    revision: integer().notNull().default(1),
    phase: text({ enum: botPhases }).notNull().default('Pending'),
    statusMessage: text().notNull().default(''),
    startedAt: instant(),
    /** Rises with each change of what is observed. */
    statusVersion: integer().notNull().default(0),
    cluster: text().notNull(),
    /** The canonical spec that was applied or adopted last, and the resource that it is of. */
    applied: jsonb().$type<BotDeploymentSpec>(),
    appliedResourceVersion: text(),
    resourceUid: text(),
    /** A row marked so is absent from every answer; it goes when its resource is gone. */
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
