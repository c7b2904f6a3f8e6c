import { execFile } from 'node:child_process'
import { cpSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { hasGo, resolveGoProgram } from '#dev/goBuild.ts'
import { findProgram } from '#dev/programs.ts'
import type { Progress } from '#dev/progress.ts'
import { obtainPythonVenv } from '#dev/pythonVenv.ts'

/** A generator of clients. Its functions throw an Error with the output of the program that failed. */
export type Generator = {
  /** Its name, version and language. */
  readonly title: string
  /** The tools that this machine lacks for it. */
  readonly missing: string | undefined
  /** Generates a client from `openapi.json` in the folder, and compiles it. */
  readonly build: (dir: string) => Promise<unknown>
  /** Uses the client in the folder with the settings of the environment, and returns what it prints. */
  readonly use?: (dir: string, env: Record<string, string>) => Promise<string>
}

const versions = {
  openapiGenerator: '7.26.0',
  oapiCodegen: '2.8.2',
  openapiPythonClient: '0.29.1',
  openapiTypescript: '7.13.0',
  kiota: '1.38.0',
}
const stepTimeoutMs = 10 * 60_000
const folderOf = (tool: string): string => fileURLToPath(new URL(tool, import.meta.url))
const tsc = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))

const run = async (cwd: string, command: string, args: readonly string[], env: Record<string, string> = {}) => {
  try {
    const options = { cwd, env: { ...process.env, ...env }, timeout: stepTimeoutMs, maxBuffer: 64 * 1024 * 1024 }
    return (await promisify(execFile)(command, args, options)).stdout
  } catch (error) {
    const { stdout = '', stderr = '', message } = Object(error)
    throw new Error(`${command} ${args.join(' ')} failed: ${`${stdout}\n${stderr}`.trim().slice(-4_000) || message}`)
  }
}

/** Programs of a virtual environment find each other in the PATH. */
const runPython = (dir: string, python: string, args: readonly string[], env: Record<string, string> = {}) =>
  run(dir, python, args, { PATH: `${dirname(python)}:${process.env.PATH}`, PYTHONDONTWRITEBYTECODE: '1', ...env })

/** Checks the types of the program that uses the generated package, and with some generators those of the package. */
const checkPython = (dir: string, python: string, tool: string, args: readonly string[]) =>
  runPython(dir, python, ['-m', 'mypy', ...args, join(folderOf(tool), 'use.py')], { MYPYPATH: dir })

const usePython = (dir: string, python: string, tool: string, env: Record<string, string>) =>
  runPython(dir, python, [join(folderOf(tool), 'use.py')], { PYTHONPATH: dir, ...env })

/** Compiles the generated package `orrery` with the program that uses it, in a module that pins what they import. */
const checkGo = async (dir: string, tool: string) => {
  for (const file of ['go.mod', 'go.sum']) cpSync(join(folderOf('oapi-codegen'), file), join(dir, file))
  cpSync(join(folderOf(tool), 'main.go'), join(dir, 'main.go'))
  await run(dir, 'go', ['vet', '.', './orrery'])
}

const useGo = (dir: string, env: Record<string, string>) => run(dir, 'go', ['run', '.'], env)

const checkTypescript = (dir: string, file: string) =>
  run(dir, process.execPath, [
    ...[tsc, '--noEmit', '--strict', '--skipLibCheck', '--target', 'es2023', '--lib', 'es2023,dom,dom.iterable'],
    ...['--module', 'esnext', '--moduleResolution', 'bundler', '--types', '', file],
  ])

type Options = { readonly env: NodeJS.ProcessEnv; readonly progress: Progress }

const openapiGenerators = async ({ env, progress }: Options): Promise<Generator[]> => {
  const program = ['-c', 'import openapi_generator_cli; openapi_generator_cli.cli()']
  const venv = await obtainPythonVenv(
    {
      name: 'openapi-generator-cli',
      version: versions.openapiGenerator,
      moduleDir: folderOf('openapi-generator'),
      versionArgs: [...program, 'version'],
    },
    { env, progress },
  )
  const lacking = 'missing' in venv ? venv.missing : findProgram(env, 'java') ? undefined : 'Java 11 or newer'
  const python = 'python' in venv ? venv.python : ''
  const tool = 'openapi-generator'
  const generator = (
    language: string,
    settings: string,
    {
      missing,
      output = '.',
      check,
      use,
    }: { missing?: string | undefined; output?: string; check: Generator['build']; use?: Generator['use'] },
  ): Generator => ({
    title: `openapi-generator ${versions.openapiGenerator} ${language}`,
    missing: lacking ?? missing,
    build: async (dir) => {
      const args = ['-g', language, '-i', 'openapi.json', '-o', output, `--additional-properties=${settings}`]
      await runPython(dir, python, [...program, 'generate', ...args])
      await check(dir)
    },
    ...(use && { use }),
  })
  const needs = (program: string): string | undefined => (findProgram(env, program) ? undefined : program)
  return [
    generator('python', 'packageName=orrery_client', {
      check: (dir) => checkPython(dir, python, tool, ['orrery_client']),
      use: (dir, settings) => usePython(dir, python, tool, settings),
    }),
    generator('go', 'packageName=orrery,withGoMod=false', {
      missing: hasGo(env) ? undefined : 'Go',
      output: 'orrery',
      check: (dir) => checkGo(dir, tool),
      use: useGo,
    }),
    generator('typescript-fetch', 'supportsES6=true', { check: (dir) => checkTypescript(dir, 'index.ts') }),
    generator('java', 'library=native', {
      missing: needs('mvn'),
      check: (dir) => run(dir, 'mvn', ['--batch-mode', '--quiet', 'compile']),
    }),
    generator('csharp', 'packageName=Orrery', {
      missing: needs('dotnet'),
      check: (dir) => run(dir, 'dotnet', ['build']),
    }),
  ]
}

const oapiCodegen = async ({ env, progress }: Options): Promise<Generator> => {
  const moduleDir = folderOf('oapi-codegen')
  const program = await resolveGoProgram({
    name: 'oapi-codegen',
    version: versions.oapiCodegen,
    goPackage: 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen',
    moduleDir,
    versionArgs: ['--version'],
    env,
    progress,
    remark: 'once',
  }).catch(({ message }: Error) => ({ missing: message }))
  return {
    title: `oapi-codegen ${versions.oapiCodegen}`,
    missing: typeof program === 'string' ? undefined : program.missing,
    build: async (dir) => {
      mkdirSync(join(dir, 'orrery'))
      await run(dir, String(program), [
        '-generate',
        'types,client',
        '-package',
        'orrery',
        '-o',
        'orrery/orrery.go',
        'openapi.json',
      ])
      await checkGo(dir, 'oapi-codegen')
    },
    use: useGo,
  }
}

const openapiPythonClient = async (options: Options): Promise<Generator> => {
  const tool = 'openapi-python-client'
  const module = ['-m', 'openapi_python_client']
  const venv = await obtainPythonVenv(
    {
      name: tool,
      version: versions.openapiPythonClient,
      moduleDir: folderOf(tool),
      versionArgs: [...module, '--version'],
    },
    options,
  )
  const python = 'python' in venv ? venv.python : ''
  return {
    title: `${tool} ${versions.openapiPythonClient}`,
    missing: 'missing' in venv ? venv.missing : undefined,
    build: async (dir) => {
      const config = join(folderOf(tool), 'config.yaml')
      const args = ['--path', 'openapi.json', '--meta', 'none', '--output-path', 'orrery_client', '--config', config]
      await runPython(dir, python, [...module, 'generate', '--fail-on-warning', ...args])
      // The package has type errors, whatever the document is; `use.py` imports all of it.
      await checkPython(dir, python, tool, ['--follow-imports=silent'])
    },
    use: (dir, env) => usePython(dir, python, tool, env),
  }
}

const openapiTypescript: Generator = {
  title: `openapi-typescript ${versions.openapiTypescript}`,
  missing: undefined,
  build: async (dir) => {
    // It needs TypeScript 5, which npm installs beside it.
    const program = `openapi-typescript@${versions.openapiTypescript}`
    await run(dir, 'npx', ['--yes', program, 'openapi.json', '--output', 'orrery.ts'])
    await checkTypescript(dir, 'orrery.ts')
  },
}

const kiota = ({ env }: Options): Generator => ({
  title: `kiota ${versions.kiota} typescript`,
  missing: findProgram(env, 'kiota') ? undefined : 'kiota, which NuGet has for the SDK of .NET',
  build: (dir) =>
    run(dir, 'kiota', ['generate', '--language', 'typescript', '--openapi', 'openapi.json', '--output', '.']),
})

/** Returns all generators. Installs those that this machine can run. */
export const obtainGenerators = async (options: Options): Promise<Generator[]> => [
  ...(await openapiGenerators(options)),
  await oapiCodegen(options),
  await openapiPythonClient(options),
  openapiTypescript,
  kiota(options),
]
