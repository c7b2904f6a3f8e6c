import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Fixture } from './fixture.ts'

const fileBeside = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
/** The output limit of a run. The end of a longer output is kept. */
const maxOutputBytes = 64 * 1024 * 1024

/** The size of a run: requests per operation, and a minimum duration if one is set. */
export type FuzzOptions = {
  readonly python: string
  readonly apiUrl: string
  readonly platformKey: string
  /** The key of the run; undefined for a run with the user's token alone. */
  readonly apiKey: string | undefined
  readonly fixture: Fixture
  readonly seed: number
  readonly phases: readonly ('examples' | 'coverage' | 'fuzzing' | 'stateful')[]
  readonly maxExamples: number
  readonly maxSeconds: number | undefined
  /** After this time the run is ended and has failed. */
  readonly timeoutMs: number
  /** The folder for the files of the run. */
  readonly dir: string
}

/** The result of a run. `failures` names the failed checks and how to reproduce them; undefined if there are none. */
export type FuzzResult = { readonly failures: string | undefined; readonly summary: string; readonly requests: number }

/** Runs Schemathesis against a running API with the document that it serves. */
export const fuzz = async (options: FuzzOptions): Promise<FuzzResult> => {
  const { apiUrl, platformKey, fixture, dir } = options
  const fixtureFile = join(dir, 'fixture.json')
  writeFileSync(fixtureFile, JSON.stringify({ baseUrl: apiUrl, platformKey, ids: fixture.ids }), { mode: 0o600 })
  const { passed, output } = await execute(options, {
    ORRERY_FUZZ_FIXTURE: fixtureFile,
    ORRERY_FUZZ_HOOKS: fileBeside('hooks.py'),
    ORRERY_FUZZ_API_KEY: options.apiKey ?? '',
    ORRERY_FUZZ_TOKEN: fixture.token,
    PYTHONDONTWRITEBYTECODE: '1',
  })
  const [, summary = output.slice(-4_000)] = output.split(/^=+ SUMMARY =+$/m)
  const requests = Number(/(\d+) generated/.exec(summary)?.[1] ?? 0)
  return { failures: passed ? undefined : cut(output), summary: summary.trim(), requests }
}

/** Cuts long lines, such as those of generated requests, so that the report names every failed check. */
const cut = (output: string): string => output.replaceAll(/^(.{1000}).+$/gm, '$1…').slice(0, 50_000)

/** Returns the settings of a run. Without a key, they do not contain the scheme `apiKey`, since a key takes precedence. */
const configFileOf = ({ apiKey, dir }: FuzzOptions): string => {
  const file = fileBeside('schemathesis.toml')
  if (apiKey !== undefined) return file
  const withoutKey = join(dir, 'schemathesis-token.toml')
  writeFileSync(withoutKey, readFileSync(file, 'utf8').replace(/^\[auth\.openapi\.apiKey\]\n.*\n/m, ''))
  return withoutKey
}

const execute = (options: FuzzOptions, env: Record<string, string>): Promise<{ passed: boolean; output: string }> =>
  new Promise((resolve) => {
    const args = [
      ...['-m', 'schemathesis.cli', '--config-file', configFileOf(options)],
      ...['run', `${options.apiUrl}/api/openapi.json`, '--no-color', '--seed', String(options.seed)],
      ...['--phases', options.phases.join(','), '--max-examples', String(options.maxExamples)],
      ...(options.maxSeconds === undefined ? [] : ['--max-time', String(options.maxSeconds)]),
    ]
    const settings = { env: { ...process.env, ...env }, cwd: options.dir, timeout: options.timeoutMs }
    execFile(options.python, args, { ...settings, maxBuffer: maxOutputBytes }, (error, stdout, stderr) => {
      resolve({ passed: error === null, output: error === null ? stdout : `${stdout}\n${stderr}\n${error.message}` })
    })
  })
