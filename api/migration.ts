import { sleep, systemClock } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'
import { auditPartitions } from './platform/audit/records.ts'
import { migrateDatabase, requireMigrated } from './platform/database/migrate.ts'
import type { PartitionedTable } from './platform/database/partitions/plan.ts'
import { SchemaError } from './platform/database/schemaError.ts'
import { isDatabaseUnavailable } from './platform/http/problem.ts'
import { changePartitions } from './realtime/table.ts'

/** The time that the start waits for the database. */
const databaseWaitMs = 60_000

type SchemaConfig = {
  /** The URLs of the API's role, and of the role that owns the tables. */
  readonly database: { readonly url: string; readonly ownerUrl: string | undefined }
  readonly auditRetentionDays: number
}

/** Returns the tables whose partitions the API maintains. */
export const partitionedTables = ({
  auditRetentionDays,
}: Pick<SchemaConfig, 'auditRetentionDays'>): PartitionedTable[] => [
  changePartitions,
  auditPartitions(auditRetentionDays),
]

/**
 * Migrates the database if the owner's URL is given, and checks that the API's role finds the schema of this version. Waits for a
 * database that is still starting. Throws an error that says what to do.
 */
export const prepareSchema = async (config: SchemaConfig, log: Log): Promise<void> => {
  const { url, ownerUrl } = config.database
  const deadlineMs = systemClock.monotonic() + databaseWaitMs
  const attempt = async (variable: string, step: () => Promise<void>): Promise<void> => {
    for (;;) {
      try {
        return await step()
      } catch (error) {
        const why = reasonOf(error)
        const mayPass = error instanceof SchemaError ? error.mayPass : isDatabaseUnavailable(error)
        if (!mayPass || systemClock.monotonic() > deadlineMs) {
          if (error instanceof SchemaError) throw error
          const remedy = 'Check the URL and that Postgres is running.'
          throw new Error(`The database of ${variable} cannot be used: ${why}. ${remedy}`, { cause: error })
        }
        log.warn({ why }, 'waiting for the database')
        await sleep(systemClock, 1_000)
      }
    }
  }
  if (ownerUrl !== undefined) {
    const partitioned = partitionedTables(config)
    await attempt('ORRERY_DATABASE_OWNER_URL', () => migrateDatabase({ url, ownerUrl, partitioned }))
  }
  await attempt('ORRERY_DATABASE_URL', () => requireMigrated(url))
}

/** Returns the message of an error. A host with several addresses fails with an error for each, and no message of its own. */
const reasonOf = (error: unknown): string => {
  if (error instanceof AggregateError && error.message === '') return reasonOf(error.errors[0])
  return error instanceof Error ? error.message : String(error)
}
