import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { obtainGoProgram } from '#dev/goPrograms.ts'
import { freePort } from '#dev/ports.ts'
import { startService } from '#dev/process.ts'
import type { Progress } from '#dev/progress.ts'

/** A real S3 server on this machine. */
export type ObjectServer = {
  /** The URL, such as `http://127.0.0.1:9000`. The region is us-east-1, with path-style addresses. */
  readonly endpoint: string
  /** The root account. */
  readonly accessKeyId: string
  readonly secretAccessKey: string
  stop(): Promise<void>
  /** Starts it again after `stop`, with the same port, data and account. */
  start(): Promise<void>
}

const name = 'versitygw'
const healthPath = '/healthz'

/**
 * Starts the S3 server on a free loopback port, with a new account and no bucket. Its objects are kept in `dir`. The
 * first start on a machine builds the program, in about two minutes. Throws on a machine without Go.
 */
export const startObjectServer = async (options: {
  dir: string
  logDir: string
  progress: Progress
  env: NodeJS.ProcessEnv
}): Promise<ObjectServer> => {
  const command = await obtainGoProgram(name, options)
  // Object metadata is kept in a folder too, since not every file system has extended attributes.
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
      // Not passed as arguments, which every account of the machine can read.
      env: { ROOT_ACCESS_KEY_ID: accessKeyId, ROOT_SECRET_ACCESS_KEY: secretAccessKey },
      logFile: join(options.logDir, `${name}.log`),
      ready: async (signal) => (await fetch(`${endpoint}${healthPath}`, { signal })).ok,
      readyTimeoutMs: 120_000,
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
