import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDatabase, forgetPostgres, startPostgres } from '#dev/postgres.ts'
import { aCluster } from '#test/support/cluster.ts'
import { createGate } from '#test/support/gate.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import { inNewProject, type WorldBody } from '#test/support/rest.ts'
import { getServers } from '#test/support/servers.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
const lobby = { name: 'Lobby', transient: false }

const aWorld = async (api: ApiProcess) => {
  const rest = await inNewProject(api.url)
  const { body } = await rest.call<{ worldId: string }>('POST', '/api/worlds/', lobby)
  const namespace = `orrery-${rest.scope.organizationId}`
  const path = `/api/worlds/${body.worldId}/`
  return {
    id: body.worldId,
    namespace,
    path,
    rest,
    status: async () => (await rest.call<WorldBody>('GET', path)).body.status,
    resource: cluster.world(namespace, body.worldId),
    pod: cluster.pod(namespace, body.worldId),
  }
}

describe('a cluster that cannot be reached', () => {
  test('does not stop REST, and its worlds appear once it is reachable', async () => {
    const gate = await createGate(getServers().apiKubeconfig)
    const api = await startApi({ databaseUrl: await aDatabase(), kubeconfig: gate.kubeconfig })
    try {
      gate.close()
      const world = await aWorld(api)
      expect((await world.rest.call('POST', `${world.path}start/`)).status).toBe(200)
      const waiting = await eventually('the reason', async () => {
        const status = await world.status()
        return status.message.startsWith('Waiting for the cluster') && status
      })
      expect(waiting.phase).toBe('Starting')
      gate.open()
      expect((await world.resource.exists()).spec).toMatchObject({ state: 'Running', revision: 2 })
      await eventually(
        'no reason any more',
        async () => !(await world.status()).message.startsWith('Waiting for the cluster'),
      )
    } finally {
      await api.stop()
      await gate.remove()
    }
  })

  test('applies after a restart what was committed before a kill', async () => {
    const gate = await createGate(getServers().apiKubeconfig)
    const databaseUrl = await aDatabase()
    const killed = await startApi({ databaseUrl, kubeconfig: gate.kubeconfig })
    gate.close()
    const world = await aWorld(killed)
    killed.signal('SIGKILL')
    await killed.exited
    await gate.remove()
    expect(await world.resource.find()).toBeUndefined()
    const api = await startApi({ databaseUrl })
    await world.resource.exists()
    await api.stop()
  })
})

describe('an operator that is killed', () => {
  let api: ApiProcess
  beforeAll(async () => {
    api = await startApi({ databaseUrl: await aDatabase() })
  })
  afterAll(() => api?.stop())

  test('creates no second pod, and handles a stop that came while it was down', async () => {
    const first = await startOperator()
    const world = await aWorld(api)
    await world.rest.call('POST', `${world.path}start/`)
    const pod = await world.pod.exists()
    first.signal('SIGKILL')
    await first.exited
    const second = await startOperator()
    await world.pod.becomesReady()
    await eventually('Active', async () => (await world.status()).phase === 'Active')
    expect((await world.pod.find())?.metadata.uid).toBe(pod.metadata.uid)

    second.signal('SIGKILL')
    await second.exited
    await world.rest.call('POST', `${world.path}stop/`)
    expect((await world.status()).phase).toBe('Stopped')
    expect(await world.pod.find()).toBeDefined()
    const third = await startOperator()
    await world.pod.isGone()
    expect((await world.status()).phase).toBe('Stopped')
    await third.stop()
  })

  test('repeatedly while worlds start leaves exactly one pod for each world', async () => {
    const worlds = await Promise.all(Array.from({ length: 12 }, () => aWorld(api)))
    let operator = await startOperator()
    for (const world of worlds) {
      await world.rest.call('POST', `${world.path}start/`)
      if (worlds.indexOf(world) % 4 !== 3) continue
      operator.signal('SIGKILL')
      await operator.exited
      operator = await startOperator()
    }
    const pods = await Promise.all(worlds.map((world) => world.pod.exists()))
    for (const [at, world] of worlds.entries()) {
      await eventually('the pod of the run', async () => {
        const run = (await world.status()).runId
        return pods[at]?.metadata.labels?.['orrery.dev/run'] === run
      })
      const inNamespace = await cluster.pods.list({ namespace: world.namespace })
      expect(inNamespace.items).toHaveLength(1)
    }
    await operator.stop()
  })
})

test('returns 503 with Retry-After while the database is down, and recovers without a restart', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-faults-'))
  const postgres = await startPostgres({ dir, logDir: getServers().logDir, durable: false, progress: () => undefined })
  await createDatabase(postgres.adminUrl, 'faults')
  const api = await startApi({ databaseUrl: postgres.url('faults') })
  try {
    const rest = await inNewProject(api.url)
    const { body } = await rest.call<{ worldId: string }>('POST', '/api/worlds/', lobby)
    await postgres.stop()
    for (const [method, path, sent] of [
      ['GET', `/api/worlds/${body.worldId}/`],
      ['POST', '/api/worlds/', lobby],
    ] as const) {
      const answer = await rest.call<{ code: string }>(method, path, sent)
      expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable' } })
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    // The result of the readiness check is kept for a second.
    await eventually('503 of /readyz', async () => (await fetch(`${api.url}/readyz`)).status === 503)
    expect((await fetch(`${api.url}/livez`)).status).toBe(200)
    await postgres.start()
    await eventually('an answer', async () => (await rest.call('GET', `/api/worlds/${body.worldId}/`)).status === 200)
    await cluster.world(`orrery-${rest.scope.organizationId}`, body.worldId).exists()
    const late = await rest.call<{ worldId: string }>('POST', '/api/worlds/', lobby)
    await cluster.world(`orrery-${rest.scope.organizationId}`, late.body.worldId).exists()
  } finally {
    await api.stop()
    await postgres.stop()
    forgetPostgres(dir)
  }
})

test('sessions that die in transactions lose responses, but no row, and the process survives', async () => {
  const databaseUrl = await aDatabase()
  const api = await startApi({ databaseUrl })
  const sql = new pg.Client(databaseUrl)
  await sql.connect()
  const rest = await inNewProject(api.url)
  const made: string[] = []
  let refused = 0
  const write = async (): Promise<void> => {
    while (made.length < 40 || refused < 20) {
      const { status, body } = await rest.call<{ worldId: string }>('POST', '/api/worlds/', lobby)
      expect([200, 201, 503]).toContain(status)
      if (status === 503) refused += 1
      else made.push(body.worldId)
    }
  }
  const kill = async (): Promise<void> => {
    const inTransaction = `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'orrery-api' and xact_start is not null`
    while (refused < 20) {
      await sql.query(inTransaction)
      await sql.query('select pg_sleep(0.03)')
    }
  }
  await Promise.all([kill(), ...Array.from({ length: 8 }, write)])
  const halves = `select w.id from worlds w full join launch_contexts c on c.world_id = w.id where w.id is null or c.id is null`
  expect((await sql.query(halves)).rows).toEqual([])
  const kept = await sql.query('select id from worlds where id = any($1)', [made])
  expect(kept.rows).toHaveLength(made.length)
  await eventually('an answer to every request', async () => {
    const answers = await Promise.all(made.slice(0, 32).map((id) => rest.call('GET', `/api/worlds/${id}/`)))
    return answers.every(({ status }) => status === 200)
  })
  await sql.end()
  await api.stop()
})
