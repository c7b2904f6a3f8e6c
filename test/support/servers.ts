import { mkdirSync } from 'node:fs'
import { relative } from 'node:path'
import { expect, inject } from 'vitest'
import { logFolderOf } from '#dev/testing/serverLogs.ts'

/** The Postgres and control plane of one test worker. No other worker uses them, so a file may stop or fill them. */
export type Servers = {
  /** The URL of the maintenance database, for a superuser. */
  readonly postgresAdminUrl: string
  readonly kubectl: string
  readonly adminKubeconfig: string
  readonly apiKubeconfig: string
  readonly operatorKubeconfig: string
  /** The folder for the logs of the processes that this test file starts. */
  readonly logDir: string
  /** The folder of the bundled programs; undefined with `ORRERY_TEST_SOURCE`, which runs the sources. */
  readonly programDir: string | undefined
}

declare module 'vitest' {
  interface ProvidedContext {
    /** Answers `GET /<worker>` with the `Servers` of that worker, and starts them first if needed. `logDir` is that of all logs. */
    serversUrl: string
  }
}

let servers: Servers | undefined

/** Starts the servers of this worker unless an earlier file did. A setup file calls it before each test file. */
export const connectServers = async (): Promise<void> => {
  const response = await fetch(`${inject('serversUrl')}/${process.env.VITEST_POOL_ID ?? '1'}`)
  if (!response.ok) throw new Error(`The servers of this test worker did not start: ${await response.text()}`)
  const started = (await response.json()) as Servers
  const logDir = logFolderOf(started.logDir, relative(process.cwd(), expect.getState().testPath ?? 'unknown'))
  mkdirSync(logDir, { recursive: true })
  servers = { ...started, logDir }
}

/** Returns the servers of this worker. */
export const getServers = (): Servers => {
  if (servers === undefined) throw new Error('getServers() needs test/support/connectServers.ts as a setup file.')
  return servers
}
