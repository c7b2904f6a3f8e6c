import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { missingForContainerd } from './node/index.ts'
import { findChromium } from './programs.ts'

// `npm test`: lint, then every test. The last line counts; what did not run on this machine is named above it.
type Report = {
  numPassedTests: number
  numFailedTests: number
  success: boolean
  testResults: {
    name: string
    status: string
    message?: string
    assertionResults: { fullName: string; status: string; failureMessages?: string[] }[]
  }[]
}

const run = (command: string, args: string[]): boolean => {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit' })
  if (error) process.stderr.write(`${command}: ${error.message}\n`)
  return status === 0
}

const report = join(tmpdir(), `orrery-test-${process.pid}.json`)
const lint = run('npm', ['run', '-s', 'lint'])
const tests = run('vitest', [
  'run',
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${report}`,
  ...process.argv.slice(2),
])
const results = read(report)
rmSync(report, { force: true })

const skipped = (results?.testResults ?? []).flatMap((file) =>
  file.assertionResults
    .filter(({ status }) => status === 'skipped' || status === 'pending')
    .map(({ fullName }) => fullName),
)
// A file that could not even be loaded has no test of its own that fails.
const broken = (results?.testResults ?? []).filter(
  ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
)
const retried = (results?.testResults ?? []).flatMap((file) =>
  file.assertionResults
    .filter(({ status, failureMessages = [] }) => status === 'passed' && failureMessages.length > 0)
    .map(({ fullName }) => fullName),
)
for (const name of retried) process.stdout.write(`passed at the second try: ${name}\n`)
for (const name of skipped) process.stdout.write(`skipped: ${name}\n`)
const missing = missingForContainerd(process.env)
if (skipped.length > 0 && missing.length > 0) process.stdout.write(`The real node needs ${missing.join(', and ')}.\n`)
if (skipped.length > 0 && findChromium(process.env) === undefined)
  process.stdout.write('The browser tests need Chromium: apt-get install chromium.\n')
for (const { name } of broken) process.stdout.write(`could not run: ${name}\n`)
// As root all that tests need can be had, so a run without some of them proves less than it seems to.
const mustNotSkip = process.env.CI !== undefined && process.getuid?.() === 0 && skipped.length > 0
if (mustNotSkip) process.stdout.write('CI as root must run every test: install what is missing.\n')

const failed =
  (results?.numFailedTests ?? 0) + broken.length + (lint ? 0 : 1) + (mustNotSkip ? 1 : 0) + (results ? 0 : 1)
if (!lint) process.stdout.write('lint failed, and counts as one\n')
process.stdout.write(
  `${results?.numPassedTests ?? 0} passed, ${failed} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}\n`,
)
process.exit(failed > 0 || !tests ? 1 : 0)

function read(file: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Report
  } catch {
    return undefined
  }
}
