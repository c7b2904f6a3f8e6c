import { execFile } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Progress } from '#dev/progress.ts'
import { obtainPythonVenv, type PythonVenv } from '#dev/pythonVenv.ts'

const fileBeside = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
const generatorModule = 'openapi_python_client'
const timeoutMs = 120_000

/** Returns a Python with openapi-python-client, or the reason why there is none. */
export const obtainGenerator = (options: { env: NodeJS.ProcessEnv; progress: Progress }): Promise<PythonVenv> =>
  obtainPythonVenv(
    {
      name: 'openapi-python-client',
      version: '0.29.1',
      moduleDir: fileBeside('.'),
      versionArgs: ['-m', generatorModule, '--version'],
    },
    options,
  )

/** Generates the package `orrery_client` in `dir`. Throws an Error with the output for the first warning. */
export const generatePythonClient = async (options: { python: string; apiUrl: string; dir: string }): Promise<void> => {
  const { python, apiUrl, dir } = options
  const args = [
    ...['-m', generatorModule, 'generate', '--url', `${apiUrl}/api/openapi.json`, '--fail-on-warning'],
    ...['--meta', 'none', '--config', fileBeside('config.yaml'), '--output-path', join(dir, 'orrery_client')],
  ]
  await runPython(python, args, dir, {})
}

/** The number of generated operations, the id of the created world, and the id and name of each listed world. */
export type SmokeResult = { readonly operations: number; readonly created: string; readonly listed: string[][] }

/** Runs the smoke test with the client in `dir`. */
export const runSmoke = async (python: string, dir: string, env: Record<string, string>): Promise<SmokeResult> =>
  JSON.parse(await runPython(python, [fileBeside('smoke.py')], dir, { PYTHONPATH: dir, ...env }))

const runPython = async (python: string, args: string[], cwd: string, env: Record<string, string>): Promise<string> => {
  // The generator formats its output with ruff, a program of the virtual environment.
  const path = `${dirname(python)}:${process.env.PATH}`
  const own = { PATH: path, PYTHONDONTWRITEBYTECODE: '1', PYTHONIOENCODING: 'utf8' }
  try {
    return (
      await promisify(execFile)(python, args, { cwd, env: { ...process.env, ...own, ...env }, timeout: timeoutMs })
    ).stdout
  } catch (error) {
    const { stdout, stderr } = Object(error)
    throw new Error(`python ${args.slice(0, 3).join(' ')} failed: ${stdout}\n${stderr}`)
  }
}
