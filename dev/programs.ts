import { accessSync, constants, globSync } from 'node:fs'
import { dirname } from 'node:path'

/** Returns the path of the first of these programs that this machine has. A name that is a path is checked as it is. */
export const findProgram = (env: NodeJS.ProcessEnv, ...files: string[]): string | undefined => {
  const folders = [...(env.PATH ?? '').split(':'), '/usr/sbin', '/sbin']
  return files
    .flatMap((file) => (file.startsWith('/') ? [file] : folders.map((folder) => `${folder}/${file}`)))
    .find(isExecutable)
}

/** The browser of the tests, or undefined. */
export const findChromium = (env: NodeJS.ProcessEnv): string | undefined =>
  findProgram(
    env,
    ...['chromium', 'chromium-browser', 'google-chrome'],
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  )

/**
 * The folder of a Postgres with its server and its tools, or undefined: that of `ORRERY_TEST_POSTGRES_BIN`, or else the newest one
 * of a Debian package.
 */
export const findPostgresTools = (env: NodeJS.ProcessEnv): string | undefined => {
  if (env.ORRERY_TEST_POSTGRES_BIN) return env.ORRERY_TEST_POSTGRES_BIN
  const servers = globSync('/usr/lib/postgresql/*/bin/postgres').filter(isExecutable)
  const [newest] = servers.sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
  return newest && dirname(newest)
}

/** Reports whether the path is a program that this account can run. */
export const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
