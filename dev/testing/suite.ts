import { missingForContainerd } from '#dev/node/index.ts'
import { findChromium, findPostgresTools } from '#dev/programs.ts'
import { type Results, runLint, runVitest } from './vitest.ts'

/** Runs lint, unit tests and integration tests. */
export const runSuite = (args: readonly string[] = [], options: { timeoutMs?: number } = {}): Results =>
  requireAllInCi([...runLint(), ...runVitest(['--project', 'unit', '--project', 'integration', ...args], options)])

/** Runs the tests of a project of `vitest.config.ts`. */
export const runProject = (
  project: string,
  args: readonly string[] = [],
  options: { timeoutMs?: number } = {},
): Results => requireAllInCi(runVitest(['--project', project, ...args], options))

/** Adds a failure for a skipped test in CI as root, where everything can be installed. */
const requireAllInCi = (results: Results): Results => {
  const isComplete = results.every(({ status }) => status !== 'skipped')
  if (isComplete || process.env.CI === undefined || process.getuid?.() !== 0) return results
  return [...results, { name: 'CI as root must run every test', status: 'failed', durationMs: 0 }]
}

/** Says what to install so that no test is skipped on this machine. */
export const installNotes = (results: Results): string[] => {
  if (results.every(({ status }) => status !== 'skipped')) return []
  const missing = missingForContainerd(process.env)
  return [
    ...(missing.length > 0 ? [`The real node needs ${missing.join(', and ')}.`] : []),
    ...(findChromium(process.env) === undefined ? ['The browser tests need Chromium: apt-get install chromium.'] : []),
    ...(findPostgresTools(process.env) === undefined
      ? ['The test of a backup needs pg_dump: apt-get install postgresql.']
      : []),
  ]
}

/** Prints the lines of a summary and exits: with 1 if a test failed. */
export const finish = (results: Results, lines: readonly string[]): never => {
  process.stdout.write(`${lines.join('\n')}\n`)
  process.exit(results.some(({ status }) => status === 'failed') ? 1 : 0)
}
