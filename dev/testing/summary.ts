import type { Results, TestResult } from './vitest.ts'

const slowestCount = 10
/** Enough for a message with a difference, and for the first lines of the stack. */
const maxErrorLines = 30

/** A stage of a run, and how long it took. */
export type StageTime = { readonly name: string; readonly durationMs: number }

/** The parts of a summary beside the results. */
export type SummaryOptions = {
  readonly times?: readonly StageTime[]
  /** The tests that failed first and passed when their file ran again. */
  readonly flaky?: Results
  readonly notes?: readonly string[]
  /** Returns the last warnings and errors of the servers of a test file. */
  readonly warningsOf?: (file: string) => readonly string[]
  /** Returns the command that repeats a test file of a stage. */
  readonly repeat?: (stage: string, file: string) => string
}

const repeatStage = (stage: string, file: string): string =>
  stage === 'timing' ? `npm test -- timing ${file}` : `npx vitest run --project ${stage} ${file}`

/**
 * The lines that end a test command: the times, the slowest and skipped tests, each failure with its errors, the last warnings of its
 * servers and the command that repeats it, the notes, and the counts in the last line. The output of a long command may be cut, so
 * its end must say what failed and why.
 */
export const summarize = (
  results: Results,
  { times = [], flaky = [], notes = [], warningsOf = () => [], repeat = repeatStage }: SummaryOptions = {},
): string[] => {
  const withStatus = (status: string) => results.filter((result) => result.status === status)
  const [passed = [], failed = [], skipped = []] = ['passed', 'failed', 'skipped'].map(withStatus)
  const slowest = results
    .filter(({ durationMs }) => durationMs > 0)
    .sort((a, b) => b.durationMs - a.durationMs)
    .slice(0, slowestCount)
  const describe = (of: Results, word: string): string[] =>
    of.flatMap((result, index) => [
      `${word}: ${titleOf(result)}${result.durationMs > 0 ? ` (${seconds(result.durationMs)} s)` : ''}`,
      ...(result.errors ?? []).flatMap((error) => error.split('\n').slice(0, maxErrorLines)).map(indent),
      // The servers belong to the file, so their lines follow its last failure.
      ...(result.file !== undefined && of[index + 1]?.file !== result.file
        ? [...warningsOf(result.file), `to repeat: ${repeat(result.stage, result.file)}`].map(indent)
        : []),
    ])
  return [
    ...(slowest.length > 0 ? ['Slowest tests:'] : []),
    ...slowest.map(({ name, durationMs }) => `${seconds(durationMs).padStart(7)} s  ${name}`),
    ...(times.length > 0
      ? [`Stages: ${times.map((each) => `${each.name} ${seconds(each.durationMs)} s`).join(', ')}`]
      : []),
    ...skipped.map((result) => `skipped: ${titleOf(result)}`),
    ...describe(flaky, 'FLAKY'),
    ...describe(failed, 'failed'),
    ...notes,
    [
      `${passed.length} passed, ${failed.length} failed`,
      ...(skipped.length > 0 ? [`${skipped.length} skipped`] : []),
    ].join(', '),
  ]
}

const titleOf = ({ file, name }: TestResult): string => (file === undefined ? name : `${file} > ${name}`)

const seconds = (durationMs: number): string => (durationMs / 1000).toFixed(1)

const indent = (line: string): string => `  ${line}`
