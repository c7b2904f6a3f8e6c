import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { isExecutable } from './programs.ts'
import type { Progress } from './progress.ts'

const progressEveryMs = 15_000
const buildTimeoutMs = 30 * 60_000
const versionTimeoutMs = 30_000
/** A line of `go build -v` for a compiled package. */
const packagePattern = /^[\w.~/-]+$/

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

/**
 * A program to build: its Go package, the folder of the module that pins it, and the arguments that print its version.
 */
export type GoProgram = {
  name: string
  goPackage: string
  moduleDir: string
  cache: string
  /** String variables of the program that the linker sets, such as `main.version=1`. */
  variables?: readonly string[]
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
  const { name, env, moduleDir } = program
  const cache = programCacheDir({ env, name: `${name}-${version}`, moduleDir })
  const path = join(cache, name)
  if (isExecutable(path)) return path
  if (!hasGo(env)) {
    throw new Error(`There is no ${path} on this machine: provide Go 1.26 or newer on the PATH, to build it (once)`)
  }
  mkdirSync(cache, { recursive: true })
  const failure = await buildGoProgram({ ...program, cache })
  if (failure !== undefined) throw new Error(`There is no ${name}: ${failure}`)
  return path
}

/**
 * Builds one program from the module proxy into the cache. The program is built beside its target, run once to print
 * its version, and then renamed, so that a partial one is never used. Go's own cache lets an interrupted build
 * continue. Returns undefined, or the reason of a failure. Throws if a signal ends the build, since the user wants to
 * stop.
 */
export const buildGoProgram = async (program: GoProgram): Promise<string | undefined> => {
  const { name, cache } = program
  const aside = mkdtempSync(join(cache, `.${name}-`))
  const output = join(aside, name)
  try {
    const failure = await goBuild(program, output)
    if (failure !== undefined) return failure
    execFileSync(output, program.versionArgs, { stdio: 'ignore', timeout: versionTimeoutMs })
    renameSync(output, join(cache, name))
    return undefined
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
}

const goBuild = async (program: GoProgram, output: string): Promise<string | undefined> => {
  const { name, moduleDir, env, progress, goPackage, variables = [], tags = [] } = program
  const startedMs = Date.now()
  progress(`building ${name} from the Go module proxy (${program.remark})`)
  const flags = ['-tags', tags.join(','), '-ldflags', ['-s -w', ...variables.map((set) => `-X ${set}`)].join(' ')]
  const child = spawn('go', ['build', '-v', '-o', output, ...flags, goPackage], {
    cwd: moduleDir,
    env: { ...env, CGO_ENABLED: '0' },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: buildTimeoutMs,
  })
  let [downloaded, compiled, errors] = [0, 0, '']
  const describe = () => `modules downloaded: ${downloaded}, packages compiled: ${compiled}`
  createInterface(child.stderr).on('line', (line) => {
    if (line.startsWith('go: downloading ')) downloaded += 1
    else if (packagePattern.test(line)) compiled += 1
    else errors = `${errors}${line}\n`.slice(-4_000)
  })
  const timer = setInterval(() => progress(`building ${name}: ${describe()}`), progressEveryMs)
  try {
    const [code, signal] = await once(child, 'close')
    if (signal !== null) throw new Error(`Go was ended by ${signal}; the next start continues its work.`)
    if (code !== 0) return `it could not build ${name} (exit code ${code}):\n${errors.trimEnd()}`
    progress(`built ${name} in ${Math.round((Date.now() - startedMs) / 1000)} s: ${describe()}`)
    return undefined
  } finally {
    clearInterval(timer)
  }
}
