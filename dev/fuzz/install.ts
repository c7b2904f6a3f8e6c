import { type ExecFileException, execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { programCacheDir } from '#dev/goBuild.ts'
import type { Progress } from '#dev/progress.ts'

const version = '4.32.0'
const moduleDir = fileURLToPath(new URL('.', import.meta.url))
const lockFile = 'requirements.txt'
const questionTimeoutMs = 60_000
const installTimeoutMs = 5 * 60_000

const execute = promisify(execFile)

/** The Python that runs Schemathesis (`-m schemathesis.cli`), or why there is none. */
export type Schemathesis = { readonly python: string } | { readonly missing: string }

/**
 * Looks for Schemathesis in the cache, and else installs it from PyPI, with the versions of the lock file, in a virtual
 * environment of its own, in about half a minute. A machine where that cannot be done is told, not an error.
 */
export const obtainSchemathesis = async (options: {
  env: NodeJS.ProcessEnv
  progress: Progress
}): Promise<Schemathesis> => {
  const { env, progress } = options
  // The packages fit one version of Python, which may be removed from the machine before the cache.
  const found = await pythonVersion(env)
  if (found === undefined) return { missing: 'python3 (3.11 or newer) with the modules venv and ensurepip' }
  const folder = programCacheDir({ env, name: `schemathesis-${version}-python-${found}`, moduleDir, lockFile })
  const python = join(folder, 'bin', 'python')
  if (existsSync(python) && (await runs(python, env))) return { python }
  progress(`installing Schemathesis ${version} from PyPI (once)`)
  mkdirSync(dirname(folder), { recursive: true })
  // Made aside and renamed when it is whole, so that a half-made one is never used.
  const aside = mkdtempSync(`${folder}-`)
  try {
    await install(aside, env)
    rmSync(folder, { recursive: true, force: true })
    renameSync(aside, folder)
    return { python }
  } catch (error) {
    return { missing: `Schemathesis ${version} from PyPI, which could not be installed: ${lastLineOf(error)}` }
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

const runs = async (python: string, env: NodeJS.ProcessEnv): Promise<boolean> => {
  try {
    await execute(python, ['-m', 'schemathesis.cli', '--version'], { env, timeout: questionTimeoutMs })
    return true
  } catch {
    return false
  }
}

const install = async (folder: string, env: NodeJS.ProcessEnv): Promise<void> => {
  const python = join(folder, 'bin', 'python')
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-input']
  await execute('python3', ['-m', 'venv', folder], { env, timeout: installTimeoutMs })
  await execute(python, [...pip, '--requirement', join(moduleDir, lockFile)], { env, timeout: installTimeoutMs })
  await execute(python, ['-m', 'schemathesis.cli', '--version'], { env, timeout: questionTimeoutMs })
}

const lastLineOf = (error: unknown): string => {
  const { stderr = '', message } = error as ExecFileException
  return String(stderr).trim().split('\n').at(-1) || message
}
