import { customType, index, pgTable, text } from 'drizzle-orm/pg-core'
import { deployments } from '#api/domain/worlds/table.ts'
import { instant } from '#api/platform/database/columns.ts'

const bytes = customType<{ data: Buffer }>({ dataType: () => 'bytea' })

/** The ends of the logs of servers that failed or ended by themselves, one for each deployment: that of the last server. */
export const deploymentLogs = pgTable(
  'deployment_logs',
  {
    deploymentId: text()
      .primaryKey()
      .references(() => deployments.id, { onDelete: 'cascade' }),
    organizationId: text().notNull(),
    worldId: text().notNull(),
    podUid: text().notNull(),
    /** At most 64 KiB, as the server wrote them. */
    content: bytes().notNull(),
    keptAt: instant().notNull(),
  },
  (table) => [index().on(table.worldId, table.keptAt)],
)
