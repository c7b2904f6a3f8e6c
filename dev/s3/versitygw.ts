import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildGoProgram, hasGo, isExecutable, programCacheDir } from '#dev/goBuild.ts'
import { freePort } from '#dev/ports.ts'
import { startService } from '#dev/process.ts'
import type { Progress } from '#dev/progress.ts'

/** A real S3 server of this machine's own. */
export type ObjectServer = {
  /** Such as `http://127.0.0.1:9000`; its region is us-east-1, and it wants path-style addresses. */
  readonly endpoint: string
  /** The root account. */
  readonly accessKeyId: string
  readonly secretAccessKey: string
  stop(): Promise<void>
  /** After `stop`: the same port, data and account. */
  start(): Promise<void>
}

const name = 'versitygw'
const version = '1.8.0'
const moduleDir = fileURLToPath(new URL('.', import.meta.url))
const healthPath = '/healthz'

/**
 * Starts the S3 server on a free loopback port, with an account of its own and no bucket at first. Its objects are kept
 * in `dir`. The first start on a machine builds the program, in about two minutes; a machine without Go is an error.
 */
export const startObjectServer = async (options: {
  dir: string
  logDir: string
  progress: Progress
  env: NodeJS.ProcessEnv
}): Promise<ObjectServer> => {
  const command = await resolveProgram(options)
  // What S3 knows of an object beside its bytes lies in a folder too: not every file system has extended attributes.
  const buckets = join(options.dir, 'buckets')
  const sidecar = join(options.dir, 'metadata')
  for (const path of [buckets, sidecar]) mkdirSync(path, { recursive: true })
  const accessKeyId = randomBytes(10).toString('hex')
  const secretAccessKey = randomBytes(24).toString('hex')
  const port = await freePort()
  const endpoint = `http://127.0.0.1:${port}`
  const start = () =>
    startService({
      name,
      command,
      args: ['--port', `127.0.0.1:${port}`, '--health', healthPath, '--quiet', 'posix', '--sidecar', sidecar, buckets],
      // Not as arguments, which every account of the machine can read.
      env: { ROOT_ACCESS_KEY_ID: accessKeyId, ROOT_SECRET_ACCESS_KEY: secretAccessKey },
      logFile: join(options.logDir, `${name}.log`),
      ready: async (signal) => (await fetch(`${endpoint}${healthPath}`, { signal })).ok,
      readyTimeoutMs: 30_000,
    })
  let service = await start()
  return {
    endpoint,
    accessKeyId,
    secretAccessKey,
    stop: () => service.stop(),
    start: async () => {
      service = await start()
    },
  }
}

/** The path of the program in the cache, where it is built when it is not there yet. */
const resolveProgram = async (options: { env: NodeJS.ProcessEnv; progress: Progress }): Promise<string> => {
  const cache = programCacheDir({ env: options.env, name: `${name}-${version}`, moduleDir })
  const path = join(cache, name)
  if (isExecutable(path)) return path
  if (!hasGo(options.env)) {
    throw new Error(`There is no ${path} on this machine: provide Go 1.26 or newer on the PATH, to build it (once)`)
  }
  mkdirSync(cache, { recursive: true })
  const failure = await buildGoProgram({
    name,
    goPackage: 'github.com/versity/versitygw/cmd/versitygw',
    moduleDir,
    cache,
    ldflags: ['-s -w', `-X main.Version=v${version}`],
    versionArgs: ['--version'],
    env: options.env,
    progress: options.progress,
    remark: 'once; about 2 minutes',
  })
  if (failure !== undefined) throw new Error(`There is no ${name}: ${failure}`)
  return path
}
