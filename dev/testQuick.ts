import { execFileSync } from 'node:child_process'
import { selectIntegrationFiles } from './testing/select.ts'
import { finish } from './testing/suite.ts'
import { summarize } from './testing/summary.ts'
import { runLint, runVitest } from './testing/vitest.ts'

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
const results = [
  ...runLint(),
  ...runVitest(['--project', 'unit']),
  ...(files.length > 0 ? runVitest(['--project', 'integration', '--project', 'faults', ...files]) : []),
]
finish(results, summarize(results))
