import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { missingForContainerd } from '#dev/node/index.ts'
import { findChromium, findPostgresTools } from '#dev/programs.ts'
import { runCommand } from './command.ts'
import { mergeRetries, selectRetries } from './retry.ts'
import { readWarnings } from './serverLogs.ts'
import { type StageTime, summarize } from './summary.ts'
import { type Results, runVitest } from './vitest.ts'

const minuteMs = 60_000
/**
 * The limits of the stages. A stage is lint, a project of `vitest.config.ts`, or `timing`: the files of unit and integration tests that
 * also check durations and memory, one at a time.
 */
const limitsMs = {
  lint: 5 * minuteMs,
  unit: 8 * minuteMs,
  integration: 45 * minuteMs,
  e2e: 20 * minuteMs,
  faults: 40 * minuteMs,
  packaging: 30 * minuteMs,
  gateway: 20 * minuteMs,
  timing: 30 * minuteMs,
  clients: 40 * minuteMs,
  model: 60 * minuteMs,
  specs: 30 * minuteMs,
  pictures: 20 * minuteMs,
  values: 60 * minuteMs,
  soak: 90 * minuteMs,
  crash: 300 * minuteMs,
}
/** The stages whose failed files run again. The others are random, or measure. */
const repeated: readonly Stage[] = ['unit', 'integration', 'e2e', 'faults', 'packaging', 'gateway']
const retryLimitMs = 8 * minuteMs

/** A part of a test run. */
export type Stage = keyof typeof limitsMs

/** Reports whether that is the name of a stage. */
export const isStage = (name: string): name is Stage => Object.hasOwn(limitsMs, name)

/**
 * Runs the stages one after another, and once more, each alone, up to three files that failed. Prints the summary, whose last
 * line counts, and returns the exit code. Logs of servers are kept if a test failed.
 */
export const runStages = async (stages: readonly Stage[], args: readonly string[] = []): Promise<number> => {
  const logDir = process.env.ORRERY_TEST_LOG_DIR ?? mkdtempSync(join(tmpdir(), 'orrery-test-logs-'))
  const env = { ORRERY_TEST_LOG_DIR: logDir }
  const times: StageTime[] = []
  const timed = async (name: string, run: () => Promise<Results>): Promise<Results> => {
    const startMs = performance.now()
    const results = await run()
    times.push({ name, durationMs: performance.now() - startMs })
    return results
  }

  const filters = args.length > 0 ? [...args, '--passWithNoTests'] : []
  const first: Results[] = []
  for (const stage of stages) {
    first.push(await timed(stage, () => runStage(stage, filters, env)))
  }
  if (args.length > 0 && first.every((each) => each.length === 0)) {
    const known = Object.keys(limitsMs).join(', ')
    const name = `No test of ${stages.join(', ')} is in a file that fits "${args.join(' ')}". The stages are ${known}; they come first.`
    first.push([{ name, status: 'failed', durationMs: 0, stage: 'summary' }])
  }
  const second: Results[] = []
  const retries = selectRetries(first.flat()).filter(({ stage }) => repeated.some((each) => each === stage))
  for (const { stage, file } of retries) {
    const run = () => runVitest(stage, ['--project', stage, file], { env, limitMs: retryLimitMs })
    second.push(await timed(`again ${file}`, run))
  }
  const { results, flaky } = mergeRetries(first.flat(), second.flat())
  const final = requireAllInCi(results)
  const hasFailed = final.some(({ status }) => status === 'failed')
  const isKept = hasFailed || flaky.length > 0 || process.env.ORRERY_TEST_LOG_DIR !== undefined
  const lines = summarize(final, {
    times,
    flaky,
    warningsOf: (file) => readWarnings(logDir, file),
    notes: [...installNotes(final), ...(isKept ? [`logs of the servers: ${logDir}`] : [])],
  })
  process.stdout.write(`${lines.join('\n')}\n`)
  if (!isKept) rmSync(logDir, { recursive: true, force: true })
  return hasFailed ? 1 : 0
}

const runStage = (stage: Stage, filters: readonly string[], env: NodeJS.ProcessEnv): Promise<Results> => {
  const limitMs = limitsMs[stage]
  if (stage === 'lint') return runLint(limitMs)
  if (stage !== 'timing') return runVitest(stage, ['--project', stage, ...filters], { env, limitMs })
  const files = timedFiles().filter((file) => filters.length === 0 || filters.some((each) => file.includes(each)))
  if (files.length === 0) return Promise.resolve([])
  const args = ['--project', 'unit', '--project', 'integration', '--no-file-parallelism', ...files]
  return runVitest(stage, args, { env: { ...env, ORRERY_TEST_TIMING: 'yes' }, limitMs })
}

/** Returns the test files that check durations or memory if `ORRERY_TEST_TIMING` is set. */
const timedFiles = (): string[] =>
  globSync('{api,operator,shared,test}/**/*.test.ts').filter((file) =>
    readFileSync(file, 'utf8').includes("'#test/support/timing.ts'"),
  )

/** Runs `npm run lint`, which counts as one failed test if it fails. */
const runLint = async (limitMs: number): Promise<Results> => {
  const { code } = await runCommand('npm', ['run', '-s', 'lint'], { limitMs })
  return code === 0 ? [] : [{ name: 'npm run lint', status: 'failed', durationMs: 0, stage: 'lint' }]
}

/** Adds a failure for a skipped test in CI as root, where everything can be installed. */
const requireAllInCi = (results: Results): Results => {
  const isComplete = results.every(({ status }) => status !== 'skipped')
  if (isComplete || process.env.CI === undefined || process.getuid?.() !== 0) return results
  return [...results, { name: 'CI as root must run every test', status: 'failed', durationMs: 0, stage: 'summary' }]
}

/** Says what to install so that no test is skipped on this machine. */
const installNotes = (results: Results): string[] => {
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
