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

const aWorld = async () => {
  const id = await tenant.world()
  const namespace = `orrery-${tenant.scope.organizationId}`
  const pod = cluster.pod(namespace, id)
  await cluster.world(namespace, id).exists()
  const call = async <T>(path: string) => (await tenant.rest.call<T>('GET', `/api/worlds/${id}/${path}`)).body
  return {
    pod,
    live: () => cluster.worlds.get({ namespace, name: id }),
    set: (state: 'Running' | 'Stopped') =>
      cluster.kubectl('-n', namespace, 'patch', 'world', id, '--type=merge', '-p', JSON.stringify({ spec: { state } })),
    deployments: () => call<{ runId: string; status: string }[]>('deployments/'),
    phase: (phase: string) =>
      eventually(`phase ${phase}`, async () => {
        const world = await call<WorldBody>('')
        return world.status.phase === phase && world
      }),
  }
}

test('a first start by kubectl has one run, which the operator names and the API adopts', async () => {
  const world = await aWorld()
  world.set('Running')
  const first = await world.pod.exists()
  await world.pod.becomesReady()
  const { status } = await world.phase('Active')
  const runId = first.metadata.labels?.['orrery.dev/run']
  await eventually('the run in REST and in the spec', async () => {
    const { spec } = await world.live()
    return spec.runId === runId && (await world.phase('Active')).status.runId === runId
  })
  const { spec } = await world.live()
  expect((await world.phase('Active')).status.startedAt).toBe(spec.startedAt)
  expect(status.phase).toBe('Active')
  expect((await world.pod.exists()).metadata.uid).toBe(first.metadata.uid)
  await eventually('one deployment', async () => {
    return (await world.deployments()).map((each) => `${each.runId} ${each.status}`).join() === `${runId} Running`
  })
})

test('a start by kubectl while no API runs keeps its server when one returns', async () => {
  const world = await aWorld()
  await api.stop()
  world.set('Running')
  const first = await world.pod.exists()
  await world.pod.becomesReady()
  api = await restartApi()
  const { status } = await world.phase('Active')
  await eventually('the adoption', async () => (await world.live()).spec.runId !== undefined)
  expect(first.metadata.labels?.['orrery.dev/run']).toBe((await world.live()).spec.runId)
  expect([undefined, first.metadata.labels?.['orrery.dev/run']]).toContain(status.runId)
  expect((await world.pod.exists()).metadata.uid).toBe(first.metadata.uid)
})

test('a second start by kubectl waits for the API, which names the run', async () => {
  const world = await aWorld()
  world.set('Running')
  await world.pod.exists()
  await eventually('the adoption', async () => (await world.live()).spec.runId !== undefined)
  const { runId } = (await world.live()).spec
  world.set('Stopped')
  await world.pod.isGone()
  await world.phase('Stopped')
  await api.stop()
  world.set('Running')
  await eventually('it waits', async () => (await world.live()).status?.message?.includes('Waiting for the API'))
  expect(await world.pod.find()).toBeUndefined()
  api = await restartApi()
  const second = await world.pod.exists()
  await eventually('the next run', async () => (await world.live()).spec.runId !== runId)
  expect(second.metadata.labels?.['orrery.dev/run']).toBe((await world.live()).spec.runId)
})
