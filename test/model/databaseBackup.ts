import { inSession } from '#dev/postgres.ts'
import { getServers } from '#test/support/servers.ts'
import { eventually } from '#test/support/wait.ts'

/** Creates the backup of a database, beside it on the same server, and its restore. Both end all its sessions. */
export const createDatabaseBackup = (databaseUrl: string) => {
  const name = new URL(databaseUrl).pathname.slice(1)
  const backup = `${name}_backup`
  let epoch = 0
  const copy = async (from: string, to: string): Promise<void> => {
    epoch += 1
    await inSession(getServers().postgresAdminUrl, async (session) => {
      await session.query(`alter database ${from} allow_connections false`)
      try {
        await eventually(`${to} is a copy of ${from}`, async () => {
          // A session that began before connections were refused may become visible only now.
          await session.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [from])
          await session.query(`drop database if exists ${to} with (force)`)
          await session.query(`create database ${to} template ${from}`)
          return true
        })
        await session.query(`alter database ${to} allow_connections true`)
      } finally {
        await session.query(`alter database ${from} allow_connections true`)
      }
    })
    epoch += 1
  }
  return {
    backUp: () => copy(name, backup),
    restore: () => copy(backup, name),
    /** Returns a number that grows with each backup and restore. It is odd during one. */
    epoch: (): number => epoch,
  }
}
