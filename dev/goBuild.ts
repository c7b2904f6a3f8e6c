import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { accessSync, constants, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Progress } from './progress.ts'

const progressEveryMs = 15_000
const buildTimeoutMs = 30 * 60_000
const versionTimeoutMs = 30_000

/** The installed Go's version, or undefined where there is none. */
export const goVersion = (): string | undefined => {
  try {
    return execFileSync('go', ['env', 'GOVERSION'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return undefined
  }
}

/**
 * Where programs are kept between runs and checkouts: outside of both, by a name with their version in it and by what
 * they are built from, which is the `go.sum` in the folder of the module.
 */
export const programCacheDir = (options: { env: NodeJS.ProcessEnv; name: string; moduleDir: string }): string => {
  const { env, name, moduleDir } = options
  const base = env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache')
  const key = createHash('sha256')
    .update(readFileSync(join(moduleDir, 'go.sum')))
    .digest('hex')
    .slice(0, 12)
  return join(base, 'orrery', `${name}-${key}`)
}

/** Whether there is a program at the path that this account may run. */
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
  progress: Progress
  /** What a person waiting should know. */
  remark: string
}

/**
 * Builds one program from the module proxy into the cache. It is written aside, asked for its version, and only then
 * renamed into place, so that a half-written one is never used; Go's own cache lets an interrupted build go on.
 */
export const buildGoProgram = async (program: GoProgram): Promise<void> => {
  const { name, cache } = program
  const aside = mkdtempSync(join(cache, `.${name}-`))
  const output = join(aside, name)
  try {
    await goBuild(program, output)
    execFileSync(output, program.versionArgs, { stdio: 'ignore', timeout: versionTimeoutMs })
    renameSync(output, join(cache, name))
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
}

const goBuild = ({ name, goPackage, moduleDir, ldflags, progress, remark }: GoProgram, output: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const startedMs = Date.now()
    const seconds = (): number => Math.round((Date.now() - startedMs) / 1000)
    progress(`building ${name} from the Go module proxy (${remark})`)
    const child = spawn('go', ['build', '-ldflags', ldflags.join(' '), '-o', output, goPackage], {
      cwd: moduleDir,
      env: { ...process.env, CGO_ENABLED: '0' },
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
    child.once('exit', (code) => {
      clearInterval(timer)
      if (code === 0) {
        progress(`built ${name} in ${seconds()} s`)
        resolve()
      } else reject(new Error(`go could not build ${name} (exit code ${code}):\n${errors}`))
    })
  })
