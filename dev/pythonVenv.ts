import { type ExecFileException, execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { programCacheDir } from './goBuild.ts'
import type { Progress } from './progress.ts'

const lockFile = 'requirements.txt'
const questionTimeoutMs = 60_000
const installTimeoutMs = 5 * 60_000

const execute = promisify(execFile)

/** A Python program of PyPI. `moduleDir` is the folder of its requirements.txt, which pins the versions of all packages. */
export type PythonProgram = {
  readonly name: string
  readonly version: string
  readonly moduleDir: string
  /** The arguments of Python that print the version. They tell whether the installation works. */
  readonly versionArgs: readonly string[]
}

/** The Python of the virtual environment that has the program, or the reason why there is none. */
export type PythonVenv = { readonly python: string } | { readonly missing: string }

/**
 * Returns a program from the cache, or installs it from PyPI into a virtual environment in about half a minute. Returns the
 * reason if it cannot be installed.
 */
export const obtainPythonVenv = async (
  program: PythonProgram,
  { env, progress }: { env: NodeJS.ProcessEnv; progress: Progress },
): Promise<PythonVenv> => {
  const { name, version, moduleDir } = program
  // The packages work with one version of Python, which may be removed from the machine before the cache.
  const found = await pythonVersion(env)
  if (found === undefined) return { missing: 'python3 (3.11 or newer) with the modules venv and ensurepip' }
  const folder = programCacheDir({ env, name: `${name}-${version}-python-${found}`, moduleDir, lockFile })
  const python = join(folder, 'bin', 'python')
  if (existsSync(python) && (await runs(python, program, env))) return { python }
  progress(`installing ${name} ${version} from PyPI (once)`)
  mkdirSync(dirname(folder), { recursive: true })
  // Installed beside the target and renamed when complete, so that a partial installation is never used.
  const aside = mkdtempSync(`${folder}-`)
  try {
    await install(aside, program, env)
    rmSync(folder, { recursive: true, force: true })
    renameSync(aside, folder)
    return { python }
  } catch (error) {
    return { missing: `${name} ${version} from PyPI, which could not be installed: ${lastLineOf(error)}` }
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
}

const pythonVersion = async (env: NodeJS.ProcessEnv): Promise<string | undefined> => {
  const question =
    'import ensurepip, sys, venv; assert sys.version_info >= (3, 11); print("%d.%d" % sys.version_info[:2])'
  try {
    const { stdout } = await execute('python3', ['-c', question], { env, timeout: questionTimeoutMs })
    return stdout.trim()
  } catch {
    return undefined
  }
}

const runs = async (python: string, { versionArgs }: PythonProgram, env: NodeJS.ProcessEnv): Promise<boolean> => {
  try {
    await execute(python, [...versionArgs], { env, timeout: questionTimeoutMs })
    return true
  } catch {
    return false
  }
}

const install = async (folder: string, program: PythonProgram, env: NodeJS.ProcessEnv): Promise<void> => {
  const python = join(folder, 'bin', 'python')
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-input']
  await execute('python3', ['-m', 'venv', folder], { env, timeout: installTimeoutMs })
  await execute(python, [...pip, '--requirement', join(program.moduleDir, lockFile)], {
    env,
    timeout: installTimeoutMs,
  })
  await execute(python, [...program.versionArgs], { env, timeout: questionTimeoutMs })
}

const lastLineOf = (error: unknown): string => {
  const { stderr = '', message } = error as ExecFileException
  return String(stderr).trim().split('\n').at(-1) || message
}
