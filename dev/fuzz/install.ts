import { fileURLToPath } from 'node:url'
import type { Progress } from '#dev/progress.ts'
import { obtainPythonVenv, type PythonVenv } from '#dev/pythonVenv.ts'

/** Returns a Python with Schemathesis (`-m schemathesis.cli`), or the reason why there is none. */
export const obtainSchemathesis = (options: { env: NodeJS.ProcessEnv; progress: Progress }): Promise<PythonVenv> =>
  obtainPythonVenv(
    {
      name: 'schemathesis',
      version: '4.32.0',
      moduleDir: fileURLToPath(new URL('.', import.meta.url)),
      versionArgs: ['-m', 'schemathesis.cli', '--version'],
    },
    options,
  )
