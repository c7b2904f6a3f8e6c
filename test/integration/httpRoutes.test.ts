import { afterAll, beforeAll, expect, test } from 'vitest'
import { aCluster } from '#test/support/cluster.ts'
import { gatewayApi } from '#test/support/gatewayApi.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import type { WorldBody } from '#test/support/rest.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
const gateway = gatewayApi(cluster.transport)
const parentRef = {
  group: 'gateway.networking.k8s.io',
  kind: 'Gateway',
  namespace: 'gateways',
  name: 'players',
  sectionName: 'wss',
}
const accepted = [
  { type: 'Accepted', status: 'True', reason: 'Accepted' },
  { type: 'ResolvedRefs', status: 'True', reason: 'ResolvedRefs' },
]
const ORRERY_ROUTE_GATEWAY = 'gateways/players/wss'
let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>
let tenant: Tenant
let namespace: string

beforeAll(async () => {
  const settings = { ORRERY_ROUTE_GATEWAY }
  ;[api, operator] = await Promise.all([
    startApi({ databaseUrl: await aDatabase(), settings }),
    startOperator({ ...settings, ORRERY_ROUTE_URL: 'wss://*.worlds.example.com' }),
  ])
  tenant = await aTenant(api.url)
  namespace = `orrery-${tenant.scope.organizationId}`
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop()])
  await gateway.isRemoved()
  await cluster.close()
})

const read = async (id: string) => (await tenant.rest.call<WorldBody>('GET', `/api/worlds/${id}/`)).body
const reasonOf = async (id: string) => {
  const { status } = await cluster.worlds.get({ namespace, name: id })
  return status?.conditions?.find(({ type }) => type === 'Ready')?.reason
}
const routeOf = (id: string) =>
  eventually('the route', async () =>
    (await gateway.routes.list({ namespace })).items.find((each) => each.metadata.name === id),
  )
const start = async () => {
  const id = await tenant.world({ networking: { strategy: 'Route', scaling: { profile: 'Capacity10' } } })
  const { status } = await tenant.rest.call('POST', `/api/worlds/${id}/start/`)
  expect(status).toBe(200)
  return id
}
const startActive = async () => {
  const id = await start()
  await cluster.pod(namespace, id).exists()
  await cluster.pod(namespace, id).becomesReady()
  await gateway.answers(await routeOf(id), parentRef, accepted)
  await eventually('Active', async () => (await read(id)).status.phase === 'Active')
  return id
}

test('a world waits for the definition of routes, and is Active at its URL once the Gateway accepts its route', async () => {
  const id = await start()
  await eventually('RouteNotAvailable', async () => (await reasonOf(id)) === 'RouteNotAvailable')
  expect(await cluster.pod(namespace, id).find()).toBeUndefined()
  await gateway.isInstalled()
  await cluster.pod(namespace, id).exists()
  await cluster.pod(namespace, id).becomesReady()
  const { metadata, spec } = await routeOf(id)
  const service = await cluster.service(namespace, id).exists()
  expect(metadata.ownerReferences).toMatchObject([{ kind: 'Service', uid: service.metadata.uid, controller: true }])
  expect(service.spec).toMatchObject({ type: 'ClusterIP', ports: [{ name: 'game-tcp', port: 7777 }] })
  const host = `${id}.worlds.example.com`
  expect(spec).toEqual({
    parentRefs: [parentRef],
    hostnames: [host],
    rules: [{ backendRefs: [{ group: '', kind: 'Service', name: id, port: 7777 }] }],
  })
  await eventually('RoutePending', async () => (await reasonOf(id)) === 'RoutePending')
  await gateway.answers(await routeOf(id), parentRef, accepted)
  const active = await eventually('Active', async () => {
    const { status } = await read(id)
    return status.phase === 'Active' && status
  })
  expect(active).toMatchObject({
    address: { host, port: 443 },
    addresses: [{ name: 'game', protocol: 'TCP', host, port: 443, url: `wss://${host}` }],
    strategy: 'Route',
  })
})

test('the operator restores a changed route, and creates a deleted one again', async () => {
  const id = await startActive()
  const edit = JSON.stringify({ spec: { hostnames: ['stolen.example.com'] } })
  cluster.kubectl('-n', namespace, 'patch', 'httproute', id, '--type=merge', '-p', edit)
  await eventually('the host name', async () =>
    JSON.stringify((await routeOf(id)).spec).includes(`"${id}.worlds.example.com"`),
  )
  const { uid } = (await routeOf(id)).metadata
  cluster.kubectl('-n', namespace, 'label', 'httproute', id, 'orrery.dev/world-', 'orrery.dev/run-')
  await eventually('the label', async () => (await routeOf(id)).metadata.labels?.['orrery.dev/world'] === id)
  cluster.kubectl('-n', namespace, 'delete', 'httproute', id)
  await eventually('another route', async () => (await routeOf(id)).metadata.uid !== uid)
  await gateway.answers(await routeOf(id), parentRef, accepted)
  await eventually('Active', async () => (await reasonOf(id)) === 'ServerReady')
  expect((await read(id)).status.phase).toBe('Active')
})

test('a listener that does not admit the namespace is RouteNotAccepted, with the label for its selector', async () => {
  const id = await start()
  await cluster.pod(namespace, id).exists()
  await cluster.pod(namespace, id).becomesReady()
  await gateway.answers(await routeOf(id), parentRef, [
    { type: 'Accepted', status: 'False', reason: 'NotAllowedByListeners' },
  ])
  const message = await eventually('RouteNotAccepted', async () => {
    const { status } = await cluster.worlds.get({ namespace, name: id })
    return status?.conditions?.find(({ reason }) => reason === 'RouteNotAccepted')?.message
  })
  expect(message).toContain('a selector for the label orrery.dev/organization')
  expect((await read(id)).status.phase).toBe('Starting')
})

test('bots connect to the service of the world, and the next run waits until the route of the last one is gone', async () => {
  const id = await startActive()
  const created = await tenant.rest.call('POST', `/api/worlds/${id}/bots/`, { count: 1 })
  const bots = cluster.bots(namespace, created.headers.get('location')?.split('/').at(-2) ?? '')
  await bots.are([0])
  const path = 'jsonpath={.spec.containers[0].env[?(@.name=="ORRERY_WORLD_ADDRESS")].value}'
  const [bot] = await bots.list()
  const address = cluster.kubectl('-n', namespace, 'get', 'pod', bot?.metadata.name ?? '', '-o', path)
  expect(address).toBe(`${id}.${namespace}.svc:7777`)
  await tenant.rest.call('POST', `/api/worlds/${id}/stop/`)
  await cluster.pod(namespace, id).hasStopped()
  await eventually('Stopped', async () => (await cluster.service(namespace, id).find()) === undefined)
  await tenant.rest.call('POST', `/api/worlds/${id}/start/`)
  await cluster.pod(namespace, id).exists()
  await cluster.pod(namespace, id).becomesReady()
  const { metadata } = await cluster.service(namespace, id).exists()
  await eventually('RoutePending', async () => (await reasonOf(id)) === 'RoutePending')
  // The garbage collector deletes it, because its owner is gone.
  cluster.kubectl('-n', namespace, 'delete', 'httproute', id)
  await eventually(
    'the next route',
    async () => (await routeOf(id)).metadata.ownerReferences?.[0]?.uid === metadata.uid,
  )
})
