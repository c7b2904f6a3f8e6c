import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { accessSync, constants, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Progress } from './progress.ts'

const progressEveryMs = 15_000
const buildTimeoutMs = 30 * 60_000
const versionTimeoutMs = 30_000

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
 * Where programs are kept between runs and checkouts: outside of both, by a name with their version in it and by what
 * they are built from, which is the lock file (`go.sum` if nothing else is said) in the folder of the module.
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

/** Reports whether the path is a program that this account may run. */
export const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** A program to build: its Go package, the folder of the module that pins it, and the question it answers if it works. */
export type GoProgram = {
  name: string
  goPackage: string
  moduleDir: string
  cache: string
  ldflags: readonly string[]
  versionArgs: readonly string[]
  env: NodeJS.ProcessEnv
  progress: Progress
  /** A note about the build for people who wait for it. */
  remark: string
}

/**
 * Builds one program from the module proxy into the cache. It is written aside, asked for its version, and only then
 * renamed into place, so that a half-written one is never used; Go's own cache lets an interrupted build go on. Returns
 * undefined when it is built, else why not; a build that a signal ends is an error, since somebody wants to stop.
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

const goBuild = (
  { name, goPackage, moduleDir, ldflags, env, progress, remark }: GoProgram,
  output: string,
): Promise<string | undefined> =>
  new Promise((resolve, reject) => {
    const startedMs = Date.now()
    const seconds = (): number => Math.round((Date.now() - startedMs) / 1000)
    progress(`building ${name} from the Go module proxy (${remark})`)
    const child = spawn('go', ['build', '-ldflags', ldflags.join(' '), '-o', output, goPackage], {
      cwd: moduleDir,
      env: { ...env, CGO_ENABLED: '0' },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: buildTimeoutMs,
    })
    const timer = setInterval(() => progress(`still building ${name} (${seconds()} s)`), progressEveryMs)
    let errors = ''
    child.stderr.on('data', (data: Buffer) => {
      errors = (errors + data.toString()).slice(-4_000)
    })
    child.once('error', (error) => {
      clearInterval(timer)
      reject(error)
    })
    child.once('exit', (code, signal) => {
      clearInterval(timer)
      if (code === 0) progress(`built ${name} in ${seconds()} s`)
      if (signal !== null) {
        reject(new Error(`The build of ${name} was ended by ${signal}; the next start goes on with it.`))
      } else resolve(code === 0 ? undefined : `it could not build ${name} (exit code ${code}):\n${errors.trimEnd()}`)
    })
  })
