import { readMigrationConfig } from '#api/config.ts'
import { prepareSchema } from '#api/migration.ts'
import { createLog } from '#shared/log.ts'

/**
 * `orrery migrate`: migrates the database as the owner of its tables, and gives the API's role its rights. Any number of
 * processes may run it at the same time, and repeat it.
 */
export const migrateSchema = async (): Promise<void> => {
  const config = readMigrationConfig(process.env)
  const { url, ownerUrl } = config.database
  if (new URL(url).username === new URL(ownerUrl).username) {
    throw new Error(
      'ORRERY_DATABASE_URL and ORRERY_DATABASE_OWNER_URL have the same role. Set ORRERY_DATABASE_URL to the URL of a role ' +
        'that owns nothing; a role that does not exist yet is created.',
    )
  }
  await prepareSchema(config, createLog({ name: 'migrate', level: config.logLevel }))
  process.stdout.write('The database has the schema of this version.\n')
}
