import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

const maxLines = 20
const maxLineLength = 400

/** Returns the folder for the logs of the servers that a test file starts, below the folder of all logs. */
export const logFolderOf = (logDir: string, testFile: string): string =>
  join(
    logDir,
    testFile
      .replace(/^test\//, '')
      .replace(/\.test\.ts$/, '')
      .replaceAll('/', '-'),
  )

/**
 * Returns the last 20 lines of level warn or higher that the servers of a test file wrote, oldest first. A server without its database
 * or cluster only warns.
 */
export const readWarnings = (logDir: string, testFile: string): string[] => {
  const folder = logFolderOf(logDir, testFile)
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => name.endsWith('.log'))
    .flatMap((name) =>
      readFileSync(join(folder, name), 'utf8')
        .split('\n')
        .filter((line) => /^\{"level":"(warn|error|fatal)"/.test(line))
        .slice(-maxLines)
        .map((line) => ({
          time: /"time":("[^"]*"|\d+)/.exec(line)?.[1] ?? '',
          text: `${basename(name, '.log')}: ${line}`,
        })),
    )
    .sort((a, b) => a.time.localeCompare(b.time))
    .slice(-maxLines)
    .map(({ text }) => text.slice(0, maxLineLength))
}
