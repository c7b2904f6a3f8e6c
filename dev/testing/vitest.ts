import { spawnSync } from 'node:child_process'
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The parts of vitest's JSON report that the summary uses. */
type Report = {
  testResults: {
    name: string
    status: string
    assertionResults: {
      fullName: string
      status: string
      duration?: number | null
      failureMessages?: string[] | null
    }[]
  }[]
}

/** The result of one test. */
export type TestResult = {
  readonly name: string
  readonly status: 'passed' | 'failed' | 'skipped'
  readonly durationMs: number
  /** The errors of a failed test, with their stack. Absent where the command printed them only. */
  readonly errors?: readonly string[]
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

/**
 * Runs a script of `dev` as one test. After `timeoutMs` it gets SIGTERM, which is a failed result. Its standard error is shown when
 * it has ended, and is the error of the failed result.
 */
export const runScript = (file: string, { timeoutMs }: { timeoutMs: number }): Results => {
  const startedMs = performance.now()
  const errorFile = join(tmpdir(), `orrery-test-${process.pid}-error`)
  // A file, since a pipe is closed with the timeout, before the script has ended. Not through npm, which would not pass the signal on.
  const stderr = openSync(errorFile, 'w+')
  const { status, signal } = spawnSync(process.execPath, [file], {
    stdio: ['inherit', 'inherit', stderr],
    timeout: timeoutMs,
  })
  closeSync(stderr)
  const errors = readFileSync(errorFile, 'utf8')
  rmSync(errorFile)
  process.stderr.write(errors)
  const result = { name: `node ${file}`, durationMs: performance.now() - startedMs }
  if (status === 0) return [{ ...result, status: 'passed' }]
  return [{ ...result, status: 'failed', errors: [`It ended with ${signal ?? `exit code ${status}`}.\n${errors}`] }]
}

/** Runs `npm run lint`, which counts as one failed test if it fails. */
export const runLint = (): Results =>
  spawnSync('npm', ['run', '-s', 'lint'], { stdio: 'inherit' }).status === 0 ? [] : [failure('npm run lint')]

const toResult = (test: Report['testResults'][number]['assertionResults'][number]): TestResult => ({
  name: test.fullName,
  status: test.status === 'passed' || test.status === 'failed' ? test.status : 'skipped',
  durationMs: test.duration ?? 0,
  errors: test.failureMessages ?? [],
})

const readReport = (file: string): Report['testResults'] => {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as Report).testResults
  } catch {
    return []
  }
}
