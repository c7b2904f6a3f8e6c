import { execFileSync } from 'node:child_process'
import { runTests } from './testing/run.ts'
import { selectIntegrationFiles } from './testing/select.ts'

// `npm run test:quick`: lint, all unit tests, and few integration tests for the folders that changed since main.
const git = (...args: string[]): string => execFileSync('git', args, { encoding: 'utf8' }).trim()

const findBase = (): string => {
  try {
    return git('merge-base', 'HEAD', 'main')
  } catch {
    return 'HEAD'
  }
}

const changed = `${git('diff', '--name-only', findBase())}\n${git('ls-files', '--others', '--exclude-standard')}`
const files = selectIntegrationFiles(changed.split('\n').filter((file) => file !== ''))
const codes = [
  await runTests(['lint', 'unit'], []),
  files.length > 0 ? await runTests(['integration', 'faults'], files) : 0,
]
process.exit(Math.max(...codes))
