import { readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { runCommand } from './command.ts'

/** The parts of vitest's JSON report that the summary uses. */
type Report = {
  testResults: {
    name: string
    status: string
    message?: string
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
  /** The project of `vitest.config.ts`, or the name of another stage. */
  readonly stage: string
  /** The file of the test, relative to the root of the project. Absent for a failure of a whole stage. */
  readonly file?: string
  /** The errors of a failed test, with their stack. */
  readonly errors?: readonly string[]
}

/** The results of one command. A lint error, a file that does not load or a missing report is a failed result. */
export type Results = readonly TestResult[]

let runs = 0

/** Runs vitest with `args` for a stage and returns the result of each test. After `limitMs` it is ended, which is a failed result. */
export const runVitest = async (
  stage: string,
  args: readonly string[],
  { env = {}, limitMs }: { env?: NodeJS.ProcessEnv; limitMs: number },
): Promise<Results> => {
  runs += 1
  const reportFile = join(tmpdir(), `orrery-test-${process.pid}-${runs}.json`)
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`]
  const { code, signal, isLate } = await runCommand('vitest', ['run', ...reporters, ...args], { env, limitMs })
  const results = readReport(reportFile).flatMap((each) => resultsOf(stage, each))
  rmSync(reportFile, { force: true })
  const end = isLate ? `ended after its limit of ${limitMs / 60_000} minutes` : `${signal ?? `exit code ${code}`}`
  const isUnexplained = code !== 0 && results.every((result) => result.status !== 'failed')
  return isUnexplained || isLate
    ? [...results, { name: `vitest ${args.join(' ')}: ${end}`, status: 'failed', durationMs: 0, stage }]
    : results
}

const resultsOf = (stage: string, of: Report['testResults'][number]): Results => {
  const file = relative(process.cwd(), of.name)
  const results = of.assertionResults.map(
    (test): TestResult => ({
      name: test.fullName,
      status: test.status === 'passed' || test.status === 'failed' ? test.status : 'skipped',
      durationMs: test.duration ?? 0,
      stage,
      file,
      errors: test.failureMessages ?? [],
    }),
  )
  if (of.status !== 'failed' || results.some(({ status }) => status === 'failed')) return results
  // A file that did not load, or whose hooks failed, has no test of its own that could fail.
  const errors = of.message ? [of.message] : []
  return [...results, { name: 'could not run this file', status: 'failed', durationMs: 0, stage, file, errors }]
}

const readReport = (file: string): Report['testResults'] => {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as Report).testResults
  } catch {
    return []
  }
}
