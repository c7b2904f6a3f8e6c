import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { apiRoleUrl, forgetPostgres } from '#dev/postgres.ts'
import { withDefined } from '#shared/optional.ts'
import { productVersion } from '#shared/version.ts'
import { aCluster } from '#test/support/cluster.ts'
import {
  aDatabase,
  apiSecrets,
  logLines,
  programOf,
  rootApiKey,
  startApi,
  startOperator,
} from '#test/support/processes.ts'
import { inNewProject } from '#test/support/rest.ts'
import { getServers } from '#test/support/servers.ts'
import { eventually, patience } from '#test/support/wait.ts'

const dir = mkdtempSync(join(tmpdir(), 'orrery-startup-'))
const cluster = aCluster()
afterAll(async () => {
  await cluster.close()
  for (const stack of ['bare', 'old']) forgetPostgres(join(dir, stack, 'postgres'))
  rmSync(dir, { recursive: true, force: true })
})

/** Runs a process with only this environment, and waits until it exits. */
const run = (file: string, env: Record<string, string>, ...args: string[]) => {
  const result = spawnSync(process.execPath, [file, ...args], {
    env: { PATH: process.env.PATH ?? '', HOME: dir, ...env },
    encoding: 'utf8',
    timeout: 120_000 * patience,
  })
  return { status: result.status, said: result.stderr }
}

const databaseOf = (url: string) => ({ ORRERY_DATABASE_URL: apiRoleUrl(url), ORRERY_DATABASE_OWNER_URL: url })

const complete = async (): Promise<Record<string, string>> => ({
  ...databaseOf(await aDatabase()),
  ORRERY_ROOT_API_KEY: rootApiKey,
  ORRERY_PUBLIC_URL: 'http://127.0.0.1:1',
  ...apiSecrets(),
  ORRERY_PORT: '0',
  ORRERY_METRICS_PORT: '0',
  KUBECONFIG: getServers().apiKubeconfig,
})

test('an API without its environment lists all errors without values and exits with 1', () => {
  const env = { ORRERY_PORT: 'eighty', ORRERY_ROOT_API_KEY: 'hunter2', ORRERY_HOST_PORTS: 'default=80-90' }
  const { status, said } = run(programOf('api'), env)
  expect(status).toBe(1)
  for (const name of ['ORRERY_PORT', 'ORRERY_DATABASE_URL', 'ORRERY_ROOT_API_KEY', 'ORRERY_KEY_PEPPER']) {
    expect(said).toContain(name)
  }
  expect(said).toContain('ORRERY_HOST_PORTS: default=80-90 must be within 1024 and 65535')
  expect(said).not.toContain('hunter2')
  expect(said).not.toContain('    at ')
})

test('an operator without its environment lists what is missing and exits with 1', () => {
  const { status, said } = run(programOf('operator'), { ORRERY_RESTART_BUDGET: '-1' })
  expect(status).toBe(1)
  for (const name of ['ORRERY_DEFAULT_SERVER_IMAGE', 'ORRERY_PUBLIC_URL', 'ORRERY_RESTART_BUDGET'])
    expect(said).toContain(name)
})

test('names a kubeconfig that is missing or unreadable, with the reason', async () => {
  const broken = join(dir, 'broken')
  writeFileSync(broken, '{ this is: [not yaml')
  const env = await complete()
  for (const kubeconfig of [join(dir, 'absent'), broken]) {
    const { status, said } = run(programOf('api'), { ...env, KUBECONFIG: kubeconfig })
    expect(status).toBe(1)
    expect(said).toContain(kubeconfig)
    expect(said).not.toContain('    at ')
  }
  expect(run(programOf('api'), { ...env, KUBECONFIG: '' }).said).toContain('KUBECONFIG')
})

test('reports a port that is in use, and what to do', async () => {
  const taken = createServer()
  await new Promise<void>((done) => taken.listen(0, done))
  const { port } = taken.address() as { port: number }
  const { status, said } = run(programOf('api'), { ...(await complete()), ORRERY_PORT: String(port) })
  expect({ status, said }).toEqual({ status: 1, said: expect.stringContaining(`Port ${port} is in use`) })
  const started = run('dev/start.ts', { ORRERY_STATE_DIR: join(dir, 'stack') }, '--api-port', String(port))
  expect(started).toEqual({ status: 1, said: expect.stringContaining('--api-port') })
  taken.close()
})

test.each(['ORRERY_DATABASE_URL', 'ORRERY_DATABASE_OWNER_URL'] as const)(
  'exits with 1 and names the error if the database refuses the connection of %s',
  async (name) => {
    const env = await complete()
    const url = (env[name] ?? '').replace(/:[^:@/]+@/, ':wrong@')
    const { status, said } = run(programOf('api'), { ...env, [name]: url })
    expect(status).toBe(1)
    expect(said).toContain(`The database of ${name} cannot be used: password authentication failed`)
    expect(said).not.toContain(url)
  },
)

test('logs which rights are missing in the cluster, and what to do', async () => {
  const api = await startApi({ databaseUrl: await aDatabase(), kubeconfig: getServers().operatorKubeconfig })
  const remedy = 'This process may not list resourcequotas. Install the roles of this version.'
  await eventually('the remedy', async () => logLines(api.logFile).some((line) => line.remedy === remedy))
  await api.stop()
})

/** Sets the version of the World definition while `act` runs. */
const withDefinitionOf = async (version: string, act: () => Promise<void> | void): Promise<void> => {
  const annotate = (value: string): string =>
    cluster.kubectl('annotate', '--overwrite', 'crd/worlds.orrery.dev', `orrery.dev/version=${value}`)
  annotate(version)
  try {
    await act()
  } finally {
    annotate(productVersion)
  }
}

test.each([
  ['API', () => aDatabase().then((databaseUrl) => startApi({ databaseUrl }))],
  ['operator', () => startOperator()],
])('an %s logs which definition is too old, and what to do', (_, start) =>
  withDefinitionOf('0.0.9', async () => {
    const process = await start()
    await eventually('the problem', async () =>
      logLines(process.logFile).some(({ msg }) => String(msg).includes('worlds.orrery.dev is of version 0.0.9')),
    )
    await process.stop()
  }),
)

test('an operator exits with 1 if a definition is too new, and its last line says what to do', () =>
  withDefinitionOf('9.0.0', () => {
    const { status, said } = run(programOf('operator'), {
      ORRERY_DEFAULT_SERVER_IMAGE: 'registry.example/world-server:1',
      ORRERY_DEFAULT_BOT_IMAGE: 'registry.example/bot:1',
      ORRERY_PUBLIC_URL: 'http://api.example:8080',
      ORRERY_METRICS_PORT: '0',
      KUBECONFIG: getServers().operatorKubeconfig,
    })
    expect(status).toBe(1)
    expect(said.trimEnd().split('\n').at(-1)).toBe(
      `The CustomResourceDefinition worlds.orrery.dev is of version 9.0.0, and this process of ${productVersion}. ` +
        'Upgrade this process: it works with definitions that are newer by one minor version at most.',
    )
  }))

test('npm start without a source of Kubernetes lists the sources', () => {
  const bare = run('dev/start.ts', { ORRERY_STATE_DIR: join(dir, 'bare'), PATH: '/nowhere' }, '--node', 'kwok')
  expect(bare.status).toBe(1)
  for (const source of ['KUBECONFIG', 'KUBEBUILDER_ASSETS', 'Go ']) expect(bare.said).toContain(source)
})

test('npm start refuses data of another version and says how to reset it', () => {
  const stateDir = join(dir, 'old')
  run('dev/start.ts', { ORRERY_STATE_DIR: stateDir, PATH: '/nowhere' }, '--node', 'kwok')
  writeFileSync(join(stateDir, 'format'), 'orrery-0')
  const { status, said } = run('dev/start.ts', { ORRERY_STATE_DIR: stateDir }, '--node', 'kwok')
  expect(status).toBe(1)
  expect(said).toContain('--reset')
})

test('after SIGTERM a kept connection gets its next response, which announces its end', async () => {
  const api = await startApi({ databaseUrl: await aDatabase() })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const get = (): Promise<{ status?: number; connection?: string; kept?: string | string[] }> =>
    new Promise((resolve, reject) => {
      const asked = request(`${api.url}/livez`, { agent }, (response) => {
        const { statusCode: status, headers } = response
        const { connection, 'keep-alive': kept } = headers
        response.resume().once('end', () => resolve(withDefined({ status, connection, kept })))
      })
      asked.once('error', reject).end()
    })
  expect(await get()).toEqual({ status: 200, connection: 'keep-alive', kept: 'timeout=65' })
  api.signal('SIGTERM')
  await eventually('the process stops', async () => logLines(api.logFile).some(({ msg }) => msg === 'stopping'))
  expect(await get()).toEqual({ status: 200, connection: 'close' })
  expect(await api.exited).toEqual({ code: 0, signal: null })
})

test('on SIGTERM the API finishes requests, accepts no new ones and exits with 0', async () => {
  const databaseUrl = await aDatabase()
  const api = await startApi({ databaseUrl })
  const rest = await inNewProject(api.url)
  const { body } = await rest.call<{ worldId: string }>('POST', '/api/worlds/', { name: 'Lobby', transient: false })
  const sql = new pg.Pool({ connectionString: databaseUrl })
  // The request waits for a lock on its row, which the test releases.
  const lock = await sql.connect()
  await lock.query('begin')
  await lock.query('select 1 from worlds where id = $1 for update', [body.worldId])
  const answer = rest.call('POST', `/api/worlds/${body.worldId}/start/`)
  await eventually('the request waits', async () => {
    const waiting = await sql.query(
      `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    )
    return waiting.rows.length > 0
  })
  api.signal('SIGTERM')
  await eventually('no other request is taken', async () => {
    try {
      await fetch(`${api.url}/livez`, { headers: { connection: 'close' } })
      return false
    } catch {
      return true
    }
  })
  await lock.query('commit')
  lock.release()
  expect((await answer).status).toBe(200)
  expect(await api.exited).toEqual({ code: 0, signal: null })
  await sql.end()
})
