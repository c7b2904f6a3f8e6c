import { missingForContainerd } from '#dev/node/index.ts'
import { findChromium } from '#dev/programs.ts'
import { type Results, runLint, runVitest } from './vitest.ts'

/** Runs lint and all tests of vitest.config.ts. In CI as root, where everything can be installed, a skipped test fails. */
export const runSuite = (args: readonly string[] = [], options: { timeoutMs?: number } = {}): Results => {
  const results = [...runLint(), ...runVitest(args, options)]
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
  ]
}

/** Prints the lines of a summary and exits: with 1 if a test failed. */
export const finish = (results: Results, lines: readonly string[]): never => {
  process.stdout.write(`${lines.join('\n')}\n`)
  process.exit(results.some(({ status }) => status === 'failed') ? 1 : 0)
}
