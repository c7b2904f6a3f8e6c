import { afterAll, beforeAll, expect, test } from 'vitest'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import { inNewProject, type WorldBody } from '#test/support/rest.ts'
import { eventually } from '#test/support/wait.ts'

let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>
const cluster = aCluster()

beforeAll(async () => {
  ;[api, operator] = await Promise.all([aDatabase().then((databaseUrl) => startApi({ databaseUrl })), startOperator()])
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop()])
})

const aWorld = async (body: object = {}) => {
  const rest = await inNewProject(api.url)
  const made = await rest.call<{ worldId: string }>('POST', '/api/worlds/', {
    name: 'Lobby',
    transient: false,
    ...body,
  })
  expect(made.status).toBe(200)
  const id = made.body.worldId
  const namespace = `orrery-${rest.scope.organizationId}`
  const read = async () => (await rest.call<WorldBody>('GET', `/api/worlds/${id}/`)).body
  return {
    id,
    namespace,
    rest,
    read,
    post: (verb: 'start' | 'stop') => rest.call('POST', `/api/worlds/${id}/${verb}/`),
    phase: (phase: string) => eventually(`phase ${phase}`, async () => (await read()).status.phase === phase && read()),
    deployments: async () =>
      (
        await rest.call<{ id: string; status: string; externalId: string; runId: string }[]>(
          'GET',
          `/api/worlds/${id}/deployments/`,
        )
      ).body,
    resource: () => cluster.world(namespace, id),
    pod: () => cluster.pod(namespace, id),
  }
}

test('a world created over REST becomes a resource, and its run a pod', async () => {
  const world = await aWorld({ description: 'The first', runtime: { mapName: 'hall' } })
  const resource = await world.resource().exists()
  expect(resource.spec).toMatchObject({
    displayName: 'Lobby',
    state: 'Stopped',
    revision: 1,
    runtime: { mapName: 'hall' },
  })
  expect((await world.read()).status.phase).toBe('Inactive')

  expect((await world.post('start')).status).toBe(200)
  const starting = await world.read()
  expect(starting.status).toMatchObject({ phase: 'Starting', runId: expect.stringMatching(/^run-/) })
  const pod = await world.pod().exists()
  await world.pod().becomesReady({ ip: '10.1.2.3' })
  const active = await world.phase('Active')
  expect(active.status).toMatchObject({ runId: starting.status.runId, startedAt: starting.status.startedAt })
  expect(await world.deployments()).toMatchObject([
    { runId: starting.status.runId, status: 'Running', externalId: pod.metadata.uid },
  ])

  expect((await world.post('stop')).status).toBe(200)
  expect((await world.read()).status.phase).toBe('Stopped')
  await world.pod().isGone()
  await eventually('the deployment is Stopped', async () => (await world.deployments())[0]?.status === 'Stopped')

  expect((await world.rest.call('DELETE', `/api/worlds/${world.id}/`)).status).toBe(200)
  expect((await world.rest.call('GET', `/api/worlds/${world.id}/`)).status).toBe(404)
  await world.resource().isGone()
})

test('a start of a running world ends the older run first, without a second pod', async () => {
  const world = await aWorld()
  await world.post('start')
  const first = await world.pod().exists()
  await world.pod().becomesReady()
  const before = await world.phase('Active')
  await world.post('start')
  expect((await world.read()).status.phase).toBe('Starting')
  const second = await eventually('a pod of the new run', async () => {
    const pod = await world.pod().find()
    return pod !== undefined && pod.metadata.uid !== first.metadata.uid && pod
  })
  expect(second.metadata.labels?.['orrery.dev/run']).not.toBe(before.status.runId)
  await world.pod().becomesReady()
  const after = await world.phase('Active')
  expect(after.status.runId).not.toBe(before.status.runId)
  await eventually('the history of both runs', async () => {
    const statuses = (await world.deployments()).map(({ status }) => status)
    return statuses.join() === 'Stopped,Running'
  })
})

test('a server that exits 0 ends the run, and one that fails is restarted and then ends in Error', async () => {
  const world = await aWorld()
  await world.post('start')
  await world.pod().exists()
  await world.pod().becomesReady()
  await world.phase('Active')
  await world.pod().exits(0)
  await world.phase('Stopped')
  await world.pod().isGone()

  await world.post('start')
  let last = ''
  for (let attempt = 0; attempt < 4; attempt += 1) {
    const pod = await eventually(`pod ${attempt}`, async () => {
      const found = await world.pod().find()
      return found !== undefined && found.metadata.uid !== last && found
    })
    last = pod.metadata.uid ?? ''
    await world.pod().exits(3)
  }
  const failed = await world.phase('Error')
  expect(failed.status.message).toContain('exit code 3')
  await world.pod().isGone()
})

test('a stop and a start by kubectl appear in REST', async () => {
  const world = await aWorld()
  await world.post('start')
  await world.pod().exists()
  await world.pod().becomesReady()
  const before = await world.phase('Active')
  cluster.kubectl(
    '-n',
    world.namespace,
    'patch',
    'world',
    world.id,
    '--type=merge',
    '-p',
    '{"spec":{"state":"Stopped"}}',
  )
  await world.phase('Stopped')
  await world.pod().isGone()
  cluster.kubectl(
    '-n',
    world.namespace,
    'patch',
    'world',
    world.id,
    '--type=merge',
    '-p',
    '{"spec":{"state":"Running"}}',
  )
  await world.pod().exists()
  await world.pod().becomesReady()
  const after = await world.phase('Active')
  expect(after.status.runId).not.toBe(before.status.runId)
})

test('a kubectl delete deletes the world, after its server has stopped', async () => {
  const world = await aWorld()
  await world.post('start')
  await world.pod().exists()
  await world.pod().becomesReady()
  await world.phase('Active')
  cluster.kubectl('-n', world.namespace, 'delete', 'world', world.id, '--wait=false')
  await world.resource().isGone()
  await world.pod().isGone()
  await eventually(
    'REST forgets it',
    async () => (await world.rest.call('GET', `/api/worlds/${world.id}/`)).status === 404,
  )
})

test('a rename over REST reaches the resource and does not affect the run', async () => {
  const world = await aWorld()
  await world.post('start')
  const pod = await world.pod().exists()
  await world.pod().becomesReady()
  const before = await world.phase('Active')
  const changed = await world.rest.call<WorldBody>('PATCH', `/api/worlds/${world.id}/`, { name: 'Foyer' })
  expect(changed.body).toMatchObject({ name: 'Foyer', launchContext: { name: 'Foyer' } })
  await eventually('the resource', async () => (await world.resource().find())?.spec.displayName === 'Foyer')
  expect((await world.pod().find())?.metadata.uid).toBe(pod.metadata.uid)
  expect((await world.read()).status).toEqual(before.status)
})

test('recreates a resource that vanished without its finalizer', async () => {
  const world = await aWorld()
  const before = await world.resource().exists()
  cluster.kubectl(
    '-n',
    world.namespace,
    'patch',
    'world',
    world.id,
    '--type=merge',
    '-p',
    '{"metadata":{"finalizers":null}}',
  )
  cluster.kubectl('-n', world.namespace, 'delete', 'world', world.id, '--wait=false')
  // The API may see the deletion before the resource is gone; only one of the two results is correct.
  await eventually('another resource, or none and no record', async () => {
    const now = await world.resource().find()
    const known = (await world.rest.call('GET', `/api/worlds/${world.id}/`)).status === 200
    return known ? now !== undefined && now.metadata.uid !== before.metadata.uid : now === undefined
  })
})
