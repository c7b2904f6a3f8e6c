import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { defaultPorts } from '#shared/domain/ports.ts'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import type { WorldBody } from '#test/support/rest.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>
let tenant: Tenant
let namespace: string

beforeAll(async () => {
  ;[api, operator] = await Promise.all([startApi({ databaseUrl: await aDatabase() }), startOperator()])
  tenant = await aTenant(api.url)
  namespace = `orrery-${tenant.scope.organizationId}`
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop()])
  await cluster.close()
})

type Problem = { detail: string; errors?: { path: string; message: string }[] }

const scaling = { profile: 'Capacity10' }
const game = { name: 'game', containerPort: 9000, protocol: 'UDP' }
const ports = [game, { name: 'web', containerPort: 9001 }, { name: 'rcon', containerPort: 25_575, expose: 'Internal' }]
const complete = ports.map((port) => ({ protocol: 'TCPUDP', expose: 'Public', ...port }))

const patch = <T = Problem>(id: string, networking: object) =>
  tenant.rest.call<T>('PATCH', `/api/worlds/${id}/`, { networking })
const portsOf = async (id: string) => {
  const { body } = await tenant.rest.call<WorldBody & { networking: { ports: object[] } }>('GET', `/api/worlds/${id}/`)
  return body.networking.ports
}

const rules = [
  ['a name twice', [game, { ...game, containerPort: 9001 }], 'unique names'],
  ['a port twice for one protocol', [game, { name: 'again', containerPort: 9000 }], 'same containerPort twice'],
  ['the port of the probes', [{ ...game, containerPort: 8080 }], 'must not contain 8080'],
  ['no public port', [{ ...game, expose: 'Internal' }], 'expose Public'],
  ['a UDP port behind a Gateway', [game], 'with the strategy Route', 'Route'],
  ['two ports behind a Gateway', ports.slice(1, 2).concat({ name: 'tls', containerPort: 443 }), 'exactly one', 'Route'],
] as const

test.each(rules)('%s is refused in REST and in the resource, with one sentence', async (...rule) => {
  const [, refused, sentence, strategy = 'Default'] = rule
  const id = await tenant.world()
  const { status, body } = await patch(id, { strategy, scaling, ports: refused })
  expect(status).toBe(400)
  expect(body.errors).toEqual([{ path: '/networking/ports', message: expect.stringContaining(sentence) }])
  const metadata = { name: 'refused', namespace: 'default' }
  const spec = { networking: { strategy, ports: refused } }
  const world = { apiVersion: 'orrery.dev/v1alpha1', kind: 'World', metadata, spec }
  await expect(cluster.worlds.create(world as never)).rejects.toThrow(sentence)
})

test('a PATCH of networking without ports resets them, and an edit with kubectl is adopted', async () => {
  const id = await tenant.world({ networking: { ports } })
  expect(await portsOf(id)).toEqual(complete)
  await cluster.world(namespace, id).exists()
  expect((await patch(id, { strategy: 'Default', scaling })).status).toBe(200)
  expect(await portsOf(id)).toEqual(defaultPorts)
  // Until then, REST would win over the edit.
  await eventually('the reset in the resource', async () => {
    const { spec } = await cluster.worlds.get({ namespace, name: id })
    return isDeepStrictEqual(spec.networking.ports, defaultPorts)
  })
  const edit = JSON.stringify({ spec: { networking: { ports: [game] } } })
  cluster.kubectl('-n', namespace, 'patch', 'world', id, '--type=merge', '-p', edit)
  const adopted = complete.slice(0, 1)
  await eventually('the edit in REST', async () => isDeepStrictEqual(await portsOf(id), adopted))
})

test('a run keeps its ports, opens the public ones in its Service, and REST shows an address for each', async () => {
  const id = await tenant.world({ networking: { strategy: 'ClusterIP', scaling, ports } })
  await tenant.rest.call('POST', `/api/worlds/${id}/start/`)
  await cluster.pod(namespace, id).exists()
  await cluster.pod(namespace, id).becomesReady()
  const { spec } = await cluster.service(namespace, id).exists()
  expect(spec?.ports?.map(({ name }) => name)).toEqual(['game-udp', 'web-tcp', 'web-udp'])
  const path = 'jsonpath={.spec.containers[0].ports}'
  const opened: { name: string; containerPort: number }[] = JSON.parse(
    cluster.kubectl('-n', namespace, 'get', 'pod', id, '-o', path),
  )
  expect(opened.map(({ name, containerPort }) => [name, containerPort])).toEqual([
    ['public-1-udp', 9000],
    ['public-2-tcp', 9001],
    ['public-2-udp', 9001],
    ['internal-3-tcp', 25_575],
    ['internal-3-udp', 25_575],
    ['health', 8080],
  ])
  type Shown = WorldBody & { status: { addresses?: object[]; message: string } }
  const read = async () => (await tenant.rest.call<Shown>('GET', `/api/worlds/${id}/`)).body.status
  const active = await eventually('Active', async () => {
    const status = await read()
    return status.phase === 'Active' && status
  })
  const host = spec?.clusterIP
  expect(active.addresses).toEqual([
    { name: 'game', protocol: 'UDP', host, port: 9000 },
    { name: 'web', protocol: 'TCPUDP', host, port: 9001 },
  ])
  await patch(id, { strategy: 'ClusterIP', scaling })
  expect((await read()).message).toBe('Changes of ports take effect at the next start.')
  const world = await eventually('the operator has seen the edit', async () => {
    const { metadata, spec: edited, status } = await cluster.worlds.get({ namespace, name: id })
    return edited.networking.ports.length === 1 && status?.observedGeneration === metadata.generation && status
  })
  expect(world.run?.ports).toEqual(complete)
  expect(world.addresses).toEqual(active.addresses)
  expect((await cluster.service(namespace, id).exists()).spec?.ports).toEqual(spec?.ports)
  expect((await read()).addresses).toEqual(active.addresses)
  await tenant.rest.call('POST', `/api/worlds/${id}/stop/`)
  await cluster.pod(namespace, id).isGone()
  await tenant.rest.call('POST', `/api/worlds/${id}/start/`)
  await cluster.pod(namespace, id).exists()
  const names = cluster.kubectl('-n', namespace, 'get', 'pod', id, '-o', 'jsonpath={.spec.containers[0].ports[*].name}')
  expect(names).toBe('public-1-tcp public-1-udp health')
})

test('a Service whose ports others changed is repaired, and keeps its node ports', async () => {
  const id = await tenant.world({ networking: { strategy: 'NodePort', scaling, ports } })
  await tenant.rest.call('POST', `/api/worlds/${id}/start/`)
  const read = async () => (await cluster.service(namespace, id).exists()).spec?.ports ?? []
  const before = await read()
  const [, web, webUdp] = before
  expect(web?.nodePort).toBe(webUdp?.nodePort)
  const [first] = before
  const changed = JSON.stringify({ spec: { ports: [{ ...first, port: 443 }, web] } })
  cluster.kubectl('-n', namespace, 'patch', 'service', id, '--type=merge', '-p', changed)
  const wanted = before.map(({ nodePort: _, ...port }) => port)
  const repaired = await eventually('the ports', async () => {
    const present = await read()
    const others = present.map(({ nodePort: _, ...port }) => port)
    return isDeepStrictEqual(others, wanted) && present
  })
  expect(repaired.slice(0, 2)).toEqual(before.slice(0, 2))
  await tenant.rest.call('POST', `/api/worlds/${id}/stop/`)
})

test('each protocol of each public port counts against maxNodePorts', async () => {
  const own = await aTenant(api.url)
  await own.rest.call('PATCH', `/api/organizations/${own.scope.organizationId}/limits/`, { maxNodePorts: 3 })
  const [first, second] = [
    await own.world({ networking: { strategy: 'NodePort', ports } }),
    await own.world({ networking: { strategy: 'NodePort', ports: [game] } }),
  ]
  const start = (id: string) => own.rest.call<Problem>('POST', `/api/worlds/${id}/start/`)
  expect((await start(first)).status).toBe(200)
  expect((await start(second)).body.detail).toContain('would have 4 node ports. The limit is 3 (maxNodePorts).')
  const usage = await own.rest.call('GET', '/api/organizations/current/usage/')
  expect(usage.body).toMatchObject({ maxNodePorts: { used: 3, limit: 3 } })
})
