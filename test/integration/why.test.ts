import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openSession } from '#api/platform/database/pool.ts'
import { maxOthers } from '#shared/why/why.ts'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import type { WorldBody } from '#test/support/rest.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
let databaseUrl: string
let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>
beforeAll(async () => {
  databaseUrl = await aDatabase()
  ;[api, operator] = await Promise.all([startApi({ databaseUrl }), startOperator()])
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop()])
  await cluster.close()
})

type Explanation = {
  state: string
  cause: string
  reason: string
  sentence: string
  others: number
  remedy?: string
  since?: string
  runId?: string
  actions: object[]
}

const aWorld = async (tenant: Tenant, body: object = {}) => {
  const id = await tenant.world(body)
  const namespace = `orrery-${tenant.scope.organizationId}`
  const pod = cluster.pod(namespace, id)
  const explain = async (rest = tenant.rest) => (await rest.call<Explanation>('GET', `/api/worlds/${id}/why/`)).body
  return {
    id,
    pod,
    explain,
    read: async () => (await tenant.rest.call<WorldBody>('GET', `/api/worlds/${id}/`)).body,
    post: (verb: 'start' | 'stop') => tenant.rest.call('POST', `/api/worlds/${id}/${verb}/`),
    shows: (reason: string) =>
      eventually(`${id} shows ${reason}`, async () => {
        const why = await explain()
        return why.reason === reason && why
      }),
    resource: () => cluster.world(namespace, id).exists(),
    kubectl: (path: string) => cluster.kubectl('-n', namespace, 'get', 'world', id, '-o', `jsonpath={${path}}`),
    nextPod: (lastUid: string) =>
      eventually('another pod', async () => {
        const uid = (await pod.find())?.metadata.uid ?? ''
        return uid !== '' && uid !== lastUid && uid
      }),
  }
}
type TestedWorld = Awaited<ReturnType<typeof aWorld>>

const notPulled = async (tenant: Tenant) => {
  const world = await aWorld(tenant)
  await world.post('start')
  await world.pod.exists()
  await world.pod.cannotPullItsImage('no such image')
  await world.shows('ImagePullFailed')
  return world
}

test('a server that exceeds its memory limit again and again is explained with its numbers', async () => {
  const world = await aWorld(await aTenant(api.url))
  await world.post('start')
  let uid = ''
  for (let attempt = 0; attempt < 4; attempt += 1) {
    uid = await world.nextPod(uid)
    await world.pod.runsOutOfMemory()
    if (attempt === 0) {
      const { sentence } = await world.shows('OutOfMemory')
      expect(sentence).toMatch(
        /^Lobby is not ready.*: its server exceeded .* \(exit code 137\)\. This is restart 1 of 3\./,
      )
    }
  }
  const why = await eventually('the failure', async () => {
    const seen = await world.explain()
    return seen.state === 'Failed' && seen
  })
  const { runId } = (await world.read()).status
  expect(why).toMatchObject({ reason: 'OutOfMemory', runId, restarts: 4, exitCode: 137, others: 0 })
  expect(why.sentence).toMatch(
    /^Lobby is not running: its server failed 4 times in \d+ (second|minute)s? and is not restarted any more\. The last time it exceeded its memory limit of 4Gi \(exit code 137\)\. Choose Capacity100 \(6Gi\) or a larger scaling profile, then start it\.$/,
  )
  expect(why.actions.slice(0, 2)).toEqual([{ kind: 'edit', field: 'networking.scaling.profile' }, { kind: 'start' }])

  await world.post('stop')
  await eventually('the stop', async () => {
    const { state, sentence } = await world.explain()
    return state === 'Stopped' && sentence === 'Lobby is stopped.'
  })
})

describe('the cause is the message of the resource', () => {
  const troubles: [string, (world: TestedWorld) => Promise<unknown>][] = [
    ['Starting', async () => undefined],
    ['ImagePullFailed', ({ pod }) => pod.cannotPullItsImage('no such image')],
    ['Unschedulable', ({ pod }) => pod.fitsNowhere('0/3 nodes are available')],
    ['Evicted', ({ pod }) => pod.isEvicted('low on memory')],
    ['ServerFailed', ({ pod }) => pod.exits(3)],
  ]
  test.each(troubles)('%s', async (reason, happens) => {
    const world = await aWorld(await aTenant(api.url))
    await world.post('start')
    await world.pod.exists()
    await happens(world)
    await eventually('REST and kubectl show the same', async () => {
      const why = await world.explain()
      const [{ status }, message] = [await world.read(), world.kubectl('.status.message')]
      return why.reason === reason && why.cause !== '' && why.cause === message && why.cause === status.message
    })
  })
})

test('a running world is explained without a cause, and a new one can be started', async () => {
  const world = await aWorld(await aTenant(api.url))
  const never = await world.explain()
  expect(never).toMatchObject({ state: 'Stopped', sentence: 'Lobby was never started.', actions: [{ kind: 'start' }] })
  expect(never).not.toHaveProperty('runId')
  await world.post('start')
  await world.pod.exists()
  await world.pod.becomesReady()
  const running = await eventually('it runs', async () => {
    const seen = await world.explain()
    return seen.state === 'Running' && seen
  })
  expect(running).toMatchObject({
    sentence: 'Lobby is running.',
    cause: '',
    reason: '',
    others: 0,
    restarts: 0,
    actions: [],
  })
  expect(running).not.toHaveProperty('remedy')
})

test('a start with kubectl that waits for room says what it waits for', async () => {
  const tenant = await aTenant(api.url)
  const { organizationId } = tenant.scope
  await tenant.rest.call('PATCH', `/api/organizations/${organizationId}/limits/`, { maxRunningCapacity: 10 })
  const world = await aWorld(tenant)
  await world.resource()
  cluster.kubectl(
    '-n',
    `orrery-${organizationId}`,
    'patch',
    'world',
    world.id,
    '--type=merge',
    '-p',
    '{"spec":{"state":"Running"}}',
  )
  const why = await world.shows('StartWaits')
  expect(why).toMatchObject({ state: 'Starting', others: 0, remedy: expect.stringMatching(/^Stop another world/) })
  expect(why.cause).toBe((await world.read()).status.message)
  expect(why.sentence).toContain('Lobby waits to start')
})

test('a world that sleeps says what wakes it, and one that was stopped since then does not', async () => {
  const world = await aWorld(await aTenant(api.url), { runtime: { idleStopMinutes: 15, wakeOnAccess: 'Access' } })
  const { client, close } = await openSession({ connectionString: databaseUrl })
  const set = (columns: object) =>
    client.query(
      `update worlds w set (cluster, state, phase, idle, runtime, conditions) =
         (select cluster, state, phase, idle, runtime, conditions from jsonb_populate_record(w, $2)) where id = $1`,
      [world.id, columns],
    )
  const at = new Date().toISOString()
  const message = 'Nobody was in the world for 15 minutes.'
  const ended = { type: 'Ready', status: 'False', reason: 'Idle', message, lastTransitionAt: at }
  // Neither sync nor the operator changes a row of a cluster that is not listed.
  await set({ cluster: 'nowhere', state: 'Running', phase: 'Stopped', idle: { asleepSince: at }, conditions: [ended] })
  const sleeps = 'Lobby sleeps: nobody was in the world for 15 minutes.'
  expect(await world.explain()).toMatchObject({
    state: 'Stopped',
    reason: 'Idle',
    sentence: `${sleeps} A user who enters wakes it, and so does a start.`,
    actions: [{ kind: 'start' }],
  })
  await set({ runtime: { mapName: 'hall', idleStopMinutes: 15 } })
  expect((await world.explain()).sentence).toBe(`${sleeps} Start it to wake it.`)
  await set({ state: 'Stopped', idle: null })
  expect((await world.explain()).sentence).toBe('Lobby is stopped: nobody was in the world for 15 minutes.')
  await close()
})

test('a world that does not run says when its schedule starts it, also if a stop comes first', async () => {
  const schedule = { start: '0 0 1 1 *', stop: '* * * * *' }
  const world = await aWorld(await aTenant(api.url), { runtime: { schedule } })
  expect((await world.explain()).sentence).toMatch(
    /^Lobby was never started\. The schedule starts it in \d+ \w+, at \d{4}-01-01T00:00:00Z\.$/,
  )
})

test('counts the other worlds of the organization with the same reason that the caller can read', async () => {
  const tenant = await aTenant(api.url)
  const { organization } = tenant.paths
  const made = await tenant.rest.call<{ projectId: string }>('POST', '/api/organizations/projects/', { name: 'Other' })
  const elsewhere = { ...tenant.rest, scope: { ...tenant.scope, projectId: made.body.projectId } }
  const inOther: Tenant['rest']['call'] = (method, path, body) =>
    tenant.rest.call(method, path, body, { 'x-svc-project-id': elsewhere.scope.projectId })
  const [world, second] = await Promise.all([notPulled(tenant), notPulled(tenant), notPulled(await aTenant(api.url))])
  await notPulled({
    ...tenant,
    rest: { ...elsewhere, call: inOther },
    world: async () =>
      (await inOther<{ worldId: string }>('POST', '/api/worlds/', { name: 'Third', transient: false })).body.worldId,
  })
  const counts = (others: number, words: string, rest = tenant.rest) =>
    eventually(`${others} others`, async () => {
      const seen = await world.explain(rest)
      return seen.others === others && seen.sentence.includes(words)
    })
  await counts(2, '2 other worlds have')

  const one = await tenant.withKey([`${organization}/projects/${tenant.scope.projectId}/worlds/${world.id}:r`])
  await counts(0, '', one)
  const both = await tenant.withKey([`${tenant.paths.project}/**:r`])
  await counts(1, '1 other world has', both)

  await tenant.rest.call('DELETE', `/api/worlds/${second.id}/`)
  await counts(1, '1 other world has')

  const { client, close } = await openSession({ connectionString: databaseUrl })
  await client.query(
    `insert into worlds select (jsonb_populate_record(w, jsonb_build_object(
      'id', 'wld-' || lpad(n::text, 26, '0'), 'resource_name', n::text, 'cluster', 'nowhere'))).*
     from worlds w, generate_series(1, $2::int) n where w.id = $1`,
    [world.id, maxOthers + 5],
  )
  await counts(maxOthers + 1, 'More than 1,000 other worlds have')
  await client.query(`delete from worlds where cluster = 'nowhere'`)
  await close()
})
