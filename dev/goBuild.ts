import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { accessSync, constants, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type BuildMeter, createBuildMeter } from './buildMeter.ts'
import type { Progress } from './progress.ts'

const progressEveryMs = 15_000
const buildTimeoutMs = 30 * 60_000
const versionTimeoutMs = 30_000
/** Prints the packages that Go has to compile, and nothing for those in its cache. */
const staleFormat =
  '{{if and .Stale (ne .StaleReason "not installed but available in build cache")}}{{.ImportPath}}{{end}}'

/** Reports whether Go is on the PATH. */
export const hasGo = (env: NodeJS.ProcessEnv): boolean => {
  try {
    execFileSync('go', ['env', 'GOVERSION'], { env, stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/**
 * Returns the cache folder of built programs, outside the checkout. Its name contains the version and a hash of the
 * lock file in the folder of the module, by default `go.sum`.
 */
export const programCacheDir = (options: {
  env: NodeJS.ProcessEnv
  name: string
  moduleDir: string
  lockFile?: string
}): string => {
  const { env, name, moduleDir, lockFile = 'go.sum' } = options
  const base = env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache')
  const key = createHash('sha256')
    .update(readFileSync(join(moduleDir, lockFile)))
    .digest('hex')
    .slice(0, 12)
  return join(base, 'orrery', `${name}-${key}`)
}

/** Reports whether the path is a program that this account can run. */
export const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/**
 * A program to build: its Go package, the folder of the module that pins it, and the arguments that print its version.
 */
export type GoProgram = {
  name: string
  goPackage: string
  moduleDir: string
  cache: string
  ldflags: readonly string[]
  /** Build tags. */
  tags?: readonly string[]
  versionArgs: readonly string[]
  env: NodeJS.ProcessEnv
  progress: Progress
  /** A note for users who wait for the build. */
  remark: string
}

/** A program that a Go module of this repository pins, with the version in the name of its cache. */
export type PinnedProgram = Omit<GoProgram, 'cache'> & { readonly version: string }

/** Returns the path of the program in the cache. Builds it first if it is not there; without Go that is an error. */
export const resolveGoProgram = async ({ version, ...program }: PinnedProgram): Promise<string> => {
  const { name, goPackage, env, moduleDir } = program
  const cache = programCacheDir({ env, name: `${name}-${version}`, moduleDir })
  const path = join(cache, name)
  if (isExecutable(path)) return path
  if (!hasGo(env)) {
    throw new Error(`There is no ${path} on this machine: provide Go 1.26 or newer on the PATH, to build it (once)`)
  }
  mkdirSync(cache, { recursive: true })
  const meter = await measureBuild({ ...program, goPackages: [goPackage] })
  const failure = await buildGoProgram({ ...program, cache }, meter)
  if (failure !== undefined) throw new Error(`There is no ${name}: ${failure}`)
  return path
}

/**
 * Returns a meter for builds of these packages of a module, which knows the packages that Go's cache lacks. Downloads the modules. If
 * that fails, the meter knows none, and the build reports the fault.
 */
export const measureBuild = async (
  of: Pick<GoProgram, 'moduleDir' | 'tags' | 'env' | 'progress'> & { goPackages: readonly string[] },
): Promise<BuildMeter> => {
  const packages = new Set<string>()
  let downloads = 0
  await runGo(['list', ...flagsOf(of), '-deps', '-f', staleFormat, ...of.goPackages], {
    ...of,
    onOutput: (line) => {
      if (line !== '') packages.add(line)
    },
    onError: (line) => {
      if (line.startsWith('go: downloading ')) downloads += 1
    },
    report: () => `downloading Go modules: ${downloads} so far`,
  })
  return createBuildMeter(packages, Date.now())
}

/**
 * Builds one program from the module proxy into the cache. The program is built beside its target, run once to print
 * its version, and then renamed, so that a partial one is never used. Go's own cache lets an interrupted build
 * continue. Returns undefined, or the reason of a failure. Throws if a signal ends the build, since the user wants to
 * stop.
 */
export const buildGoProgram = async (program: GoProgram, meter: BuildMeter): Promise<string | undefined> => {
  const { name, cache } = program
  const aside = mkdtempSync(join(cache, `.${name}-`))
  const output = join(aside, name)
  try {
    const failure = await goBuild(program, meter, output)
    if (failure !== undefined) return failure
    execFileSync(output, program.versionArgs, { stdio: 'ignore', timeout: versionTimeoutMs })
    renameSync(output, join(cache, name))
    return undefined
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
}

const goBuild = async (program: GoProgram, meter: BuildMeter, output: string): Promise<string | undefined> => {
  const { name, progress, ldflags } = program
  const startedMs = Date.now()
  progress(`building ${name} from the Go module proxy (${program.remark})`)
  let errors = ''
  const args = ['build', ...flagsOf(program), '-ldflags', ldflags.join(' '), '-o', output, '-v', program.goPackage]
  const code = await runGo(args, {
    ...program,
    onOutput: () => undefined,
    onError: (line) => {
      if (!meter.note(line)) errors = `${errors}${line}\n`.slice(-4_000)
    },
    report: () => `building ${name}: ${meter.describe(Date.now())}`,
  })
  if (code !== 0) return `it could not build ${name} (exit code ${code}):\n${errors.trimEnd()}`
  const nowMs = Date.now()
  progress(`built ${name} in ${Math.round((nowMs - startedMs) / 1000)} s: ${meter.describe(nowMs)}`)
  return undefined
}

const flagsOf = ({ tags = [] }: Pick<GoProgram, 'tags'>): string[] => (tags.length > 0 ? ['-tags', tags.join(',')] : [])

/**
 * Runs Go in the folder of the module, and reports at intervals. Returns its exit code when all its lines were read. Throws if a
 * signal ended it.
 */
const runGo = async (
  args: readonly string[],
  of: Pick<GoProgram, 'moduleDir' | 'env' | 'progress'> & {
    onOutput: (line: string) => void
    onError: (line: string) => void
    report: () => string
  },
): Promise<number | null> => {
  const child = spawn('go', args, {
    cwd: of.moduleDir,
    env: { ...of.env, CGO_ENABLED: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: buildTimeoutMs,
  })
  const timer = setInterval(() => of.progress(of.report()), progressEveryMs)
  createInterface(child.stdout).on('line', of.onOutput)
  createInterface(child.stderr).on('line', of.onError)
  try {
    const [code, signal] = await once(child, 'close')
    if (signal !== null) throw new Error(`Go was ended by ${signal}; the next start continues its work.`)
    return code
  } finally {
    clearInterval(timer)
  }
}
