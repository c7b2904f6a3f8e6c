import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The parts of vitest's JSON report that the summary uses. */
type Report = {
  testResults: {
    name: string
    status: string
    assertionResults: { fullName: string; status: string; duration?: number | null }[]
  }[]
}

/** The result of one test. */
export type TestResult = {
  readonly name: string
  readonly status: 'passed' | 'failed' | 'skipped'
  readonly durationMs: number
}

/** The results of one command. A lint error, a file that does not load or a missing report is a failed result. */
export type Results = readonly TestResult[]

const failure = (name: string): TestResult => ({ name, status: 'failed', durationMs: 0 })
let runs = 0

/** Runs vitest and returns the result of each test. After `timeoutMs` it is ended, which is a failed result. */
export const runVitest = (
  args: readonly string[],
  { env = {}, timeoutMs }: { env?: NodeJS.ProcessEnv; timeoutMs?: number } = {},
): Results => {
  runs += 1
  const file = join(tmpdir(), `orrery-test-${process.pid}-${runs}.json`)
  const { status, error } = spawnSync(
    'vitest',
    ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${file}`, ...args],
    { stdio: 'inherit', env: { ...process.env, ...env }, timeout: timeoutMs },
  )
  const results = readReport(file).flatMap(({ name, status: fileStatus, assertionResults: tests }) =>
    // A file that did not load has no test of its own that could fail.
    fileStatus === 'failed' && tests.every((test) => test.status !== 'failed')
      ? [...tests.map(toResult), failure(`could not run ${name}`)]
      : tests.map(toResult),
  )
  rmSync(file, { force: true })
  const hasFailed = status !== 0 && results.every((result) => result.status !== 'failed')
  return hasFailed
    ? [...results, failure(`vitest ${args.join(' ')}: ${error?.message ?? `exit code ${status}`}`)]
    : results
}

/** Runs `npm run lint`, which counts as one failed test if it fails. */
export const runLint = (): Results =>
  spawnSync('npm', ['run', '-s', 'lint'], { stdio: 'inherit' }).status === 0 ? [] : [failure('npm run lint')]

const toResult = (test: Report['testResults'][number]['assertionResults'][number]): TestResult => ({
  name: test.fullName,
  status: test.status === 'passed' || test.status === 'failed' ? test.status : 'skipped',
  durationMs: test.duration ?? 0,
})

const readReport = (file: string): Report['testResults'] => {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as Report).testResults
  } catch {
    return []
  }
}
