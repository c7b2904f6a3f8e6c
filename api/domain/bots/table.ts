import { sql } from 'drizzle-orm'
import { doublePrecision, foreignKey, index, integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import { eventColumns } from '#api/domain/events/table.ts'
import { resourceColumns, worlds } from '#api/domain/worlds/table.ts'
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
    /** The name of the world's resource in the cluster. */
    worldName: text().notNull(),
    description: text().notNull(),
    count: integer().notNull(),
    cpu: text().notNull(),
    memory: text().notNull(),
    args: jsonb().$type<string[]>().notNull(),
    durationMinutes: doublePrecision(),
    phase: text({ enum: botPhases }).notNull().default('Pending'),
    startedAt: instant(),
    /** The cluster that has the resource. */
    cluster: text().notNull(),
    /** The cluster that the bots move to with their world, or null. */
    targetCluster: text(),
    ...resourceColumns<BotDeploymentSpec>(),
  },
  (table) => [
    foreignKey({
      columns: [table.organizationId, table.projectId, table.worldId],
      foreignColumns: [worlds.organizationId, worlds.projectId, worlds.id],
    }),
    index().on(table.worldId, table.createdAt, table.id),
    index().on(table.organizationId, table.worldId),
    index().on(table.organizationId, table.resourceName),
    index().on(table.cluster).where(sql`${table.resourceUid} is not null`),
  ],
)

/** The recent events of bot deployments. Each bot deployment keeps its newest ones. */
export const botEvents = pgTable(
  'bot_events',
  {
    ...eventColumns(),
    botDeploymentId: text()
      .notNull()
      .references(() => botDeployments.id, { onDelete: 'cascade' }),
  },
  (table) => [index().on(table.botDeploymentId, table.createdAt, table.id)],
)

export type BotRow = typeof botDeployments.$inferSelect
