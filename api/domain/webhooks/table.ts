import { sql } from 'drizzle-orm'
import { boolean, foreignKey, index, integer, jsonb, pgTable, text, unique } from 'drizzle-orm/pg-core'
import { organizations } from '#api/domain/organizations/table.ts'
import { instant } from '#api/platform/database/columns.ts'
import { sendFailures } from '#api/platform/webhooks/send.ts'
import type { testEventType, webhookEventTypes } from './events.ts'

/** The reasons for which the system deactivates a webhook. */
export const disabledReasons = ['Failing', 'Gone', 'Backlog'] as const

/** The states of a webhook delivery. Only Pending is attempted again. */
export const deliveryStatuses = ['Pending', 'Delivered', 'Failed'] as const

/** The reasons for which an attempt fails. The last two are answers. */
export const attemptFailures = [...sendFailures, 'Redirect', 'ErrorStatus'] as const

/** The webhooks of organizations. */
export const webhooks = pgTable(
  'webhooks',
  {
    id: text().primaryKey(),
    organizationId: text()
      .notNull()
      .references(() => organizations.id, { onDelete: 'cascade' }),
    url: text().notNull(),
    /** The selected types; all if the list is empty. */
    events: jsonb().$type<(typeof webhookEventTypes)[number][]>().notNull(),
    isActive: boolean().notNull(),
    sealed: text().notNull(),
    /** The secret before the last rotation. It signs until `previousValidUntil`. */
    previousSealed: text(),
    previousValidUntil: instant(),
    /** The time of the first failed attempt since the last successful one. */
    failingSince: instant(),
    disabledAt: instant(),
    disabledReason: text({ enum: disabledReasons }),
    createdAt: instant().notNull(),
    updatedAt: instant().notNull(),
  },
  (table) => [unique().on(table.organizationId, table.id), index().on(table.organizationId, table.createdAt, table.id)],
)

/**
 * The messages to webhooks, one row for each webhook. Triggers write them in the transaction of the change
 * (`webhook_enqueue` in the migrations).
 */
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    id: text().primaryKey(),
    organizationId: text().notNull(),
    webhookId: text().notNull(),
    /** The id of the message. All webhooks that get the event, and all attempts, have the same one. */
    messageId: text().notNull(),
    type: text().$type<(typeof webhookEventTypes)[number] | typeof testEventType>().notNull(),
    data: jsonb().$type<Record<string, unknown>>().notNull(),
    status: text({ enum: deliveryStatuses }).notNull().default('Pending'),
    attempts: integer().notNull().default(0),
    nextAttemptAt: instant().notNull(),
    /** The end of the lease of an attempt under way. It also identifies the attempt. */
    claimedUntil: instant(),
    lastAttemptAt: instant(),
    /** The status of the last answer, if there was one. */
    statusCode: integer(),
    failure: text({ enum: attemptFailures }),
    createdAt: instant().notNull(),
  },
  (table) => [
    foreignKey({
      columns: [table.organizationId, table.webhookId],
      foreignColumns: [webhooks.organizationId, webhooks.id],
    }).onDelete('cascade'),
    index().on(table.webhookId, table.createdAt, table.id),
    index().on(table.webhookId, table.nextAttemptAt).where(sql`${table.status} = 'Pending'`),
    index().on(table.organizationId, table.webhookId).where(sql`${table.claimedUntil} is not null`),
    index().on(table.createdAt),
  ],
)

export type WebhookRow = typeof webhooks.$inferSelect
export type DeliveryRow = typeof webhookDeliveries.$inferSelect
