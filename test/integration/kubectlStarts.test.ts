import { afterAll, beforeAll, expect, test } from 'vitest'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import type { WorldBody } from '#test/support/rest.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
let databaseUrl: string
let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>
let tenant: Tenant

beforeAll(async () => {
  databaseUrl = await aDatabase()
  ;[api, operator] = await Promise.all([startApi({ databaseUrl }), startOperator()])
  tenant = await aTenant(api.url)
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop()])
  await cluster.close()
})

const restartApi = () => startApi({ databaseUrl, port: Number(new URL(api.url).port) })

const aWorld = async (owner: Tenant = tenant) => {
  const id = await owner.world()
  const namespace = `orrery-${owner.scope.organizationId}`
  const pod = cluster.pod(namespace, id)
  await cluster.world(namespace, id).exists()
  const call = async <T>(path: string) => (await owner.rest.call<T>('GET', `/api/worlds/${id}/${path}`)).body
  const live = () => cluster.worlds.get({ namespace, name: id })
  const patch = (spec: object) =>
    cluster.kubectl('-n', namespace, 'patch', 'world', id, '--type=merge', '-p', JSON.stringify({ spec }))
  const condition = async () => (await live()).status?.conditions?.find(({ type }) => type === 'Synced')
  return {
    id,
    pod,
    live,
    patch,
    condition,
    set: (state: 'Running' | 'Stopped') => patch({ state }),
    synced: (reason: string) =>
      eventually(`Synced with ${reason}`, async () => {
        const shown = await condition()
        return shown?.reason === reason && shown
      }),
    deployments: () => call<{ runId: string; status: string }[]>('deployments/'),
    phase: (phase: string) =>
      eventually(`phase ${phase}`, async () => {
        const world = await call<WorldBody>('')
        return world.status.phase === phase && world
      }),
  }
}

test('a first start by kubectl has one run, which the API grants and the operator executes', async () => {
  const world = await aWorld()
  world.set('Running')
  const first = await world.pod.exists()
  await world.pod.becomesReady()
  const { status } = await world.phase('Active')
  const { spec, status: live } = await world.live()
  expect(first.metadata.labels?.['orrery.dev/run']).toBe(status.runId)
  expect(spec.granted).toMatchObject({ id: status.runId, startedAt: status.startedAt, ...tenant.scope })
  expect([spec.runId, live?.run?.id]).toEqual([status.runId, status.runId])
  expect((await world.pod.exists()).metadata.uid).toBe(first.metadata.uid)
  await eventually('one deployment', async () => {
    return (
      (await world.deployments()).map((each) => `${each.runId} ${each.status}`).join() === `${status.runId} Running`
    )
  })
})

test('a start by kubectl while no API runs waits, and begins when one returns', async () => {
  const world = await aWorld()
  await api.stop()
  world.set('Running')
  await eventually('it waits', async () => (await world.live()).status?.message?.includes('Waiting for the API'))
  expect(await world.pod.find()).toBeUndefined()
  api = await restartApi()
  const pod = await world.pod.exists()
  await world.pod.becomesReady()
  const { status } = await world.phase('Active')
  expect(pod.metadata.labels?.['orrery.dev/run']).toBe(status.runId)
})

test('a stop by kubectl while no API runs acts at once, and another start is another run', async () => {
  const world = await aWorld()
  world.set('Running')
  await world.pod.exists()
  const { runId } = (await world.live()).spec
  await api.stop()
  world.set('Stopped')
  await world.pod.isGone()
  api = await restartApi()
  await world.phase('Stopped')
  world.set('Running')
  const second = await world.pod.exists()
  expect(second.metadata.labels?.['orrery.dev/run']).not.toBe(runId)
  expect(second.metadata.labels?.['orrery.dev/run']).toBe((await world.live()).spec.runId)
})

test('an edit after a start changes no field of the run, and acts at the next start', async () => {
  const world = await aWorld()
  world.patch({ state: 'Running', runtime: { mapName: 'first' } })
  await eventually('the grant', async () => (await world.live()).spec.granted !== undefined)
  world.patch({ runtime: { mapName: 'second', args: ['late'] } })
  await world.pod.exists()
  await world.pod.becomesReady()
  await world.phase('Active')
  expect((await world.live()).status?.run).toMatchObject({ mapName: 'first', args: [] })
  world.set('Stopped')
  await world.pod.isGone()
  await world.phase('Stopped')
  world.set('Running')
  await world.pod.exists()
  await eventually('the next run', async () => (await world.live()).status?.run?.mapName === 'second')
})

test('a start by kubectl that REST would refuse is put back, and nothing runs', async () => {
  const { organizationId } = tenant.scope
  const limits = { imageRegistries: ['registry.example'] }
  await tenant.rest.call<object>('PATCH', `/api/organizations/${organizationId}/limits/`, limits)
  try {
    const world = await aWorld()
    world.patch({ state: 'Running', runtime: { image: 'other.example/server:1' } })
    const { message } = await world.synced('EditRefused')
    expect(message).toContain('is not from an allowed registry')
    await eventually('the state is put back', async () => (await world.live()).spec.state === 'Stopped')
    expect(await world.pod.find()).toBeUndefined()
    expect(await world.deployments()).toEqual([])
  } finally {
    const all = { imageRegistries: ['*'] }
    await tenant.rest.call<object>('PATCH', `/api/organizations/${organizationId}/limits/`, all)
  }
})

test('a tool that writes a refused start again and again is left alone, until a limit allows it', async () => {
  const path = `/api/organizations/${tenant.scope.organizationId}/limits/`
  const world = await aWorld()
  const before = await world.live()
  await tenant.rest.call<object>('PATCH', path, { maxWorldCapacity: 10 })
  const isLeft = async () => (await world.condition())?.reason === 'EditRefusedAgain'
  for (let writes = 0; writes < 10 && !(await isLeft()); writes += 1) {
    world.set('Running')
    await eventually('it is put back or left', async () => (await world.live()).spec.state === 'Stopped' || isLeft())
  }
  const left = await world.live()
  expect(left.spec.state).toBe('Running')
  // Three edits were put back, each by one write; the fourth stays.
  expect(left.metadata.generation).toBe((before.metadata.generation ?? 0) + 7)
  expect(await world.pod.find()).toBeUndefined()
  await tenant.rest.call<object>('PATCH', path, { maxWorldCapacity: 10_000 })
  await world.pod.exists()
  await eventually('it is in sync', async () => (await world.condition())?.status === 'True')
})

test('a start by kubectl above the rate of its world waits for it, as REST refuses one', async () => {
  const limited = await startApi({ databaseUrl: await aDatabase(), settings: { ORRERY_LIMIT_STARTS_PER_MINUTE: '1' } })
  try {
    const other = await aTenant(limited.url)
    const world = await aWorld(other)
    world.set('Running')
    await world.pod.exists()
    world.set('Stopped')
    await world.pod.isGone()
    await world.phase('Stopped')
    const caller = await other.withKey([`${other.paths.organization}/**:w`])
    expect((await caller.call('POST', `/api/worlds/${world.id}/start/`)).status).toBe(429)
    world.set('Running')
    const { message } = await world.synced('StartWaits')
    expect(message).toContain('1 starts per minute')
    expect((await world.phase('Stopped')).status.message).toBe(message)
    expect(await world.pod.find()).toBeUndefined()
  } finally {
    await limited.stop()
  }
})
