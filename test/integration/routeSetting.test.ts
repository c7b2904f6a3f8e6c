import { afterAll, beforeAll, expect, test } from 'vitest'
import type { WorldSpec } from '#shared/resources/world.ts'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import type { WorldBody } from '#test/support/rest.ts'
import { openSocket } from '#test/support/socket.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
let databaseUrl: string
let api: ApiProcess
let tenant: Tenant
let namespace: string
/** A world with the strategy Route. */
let routed: string

const route = { strategy: 'Route', scaling: { profile: 'Capacity10', configuration: null } }

beforeAll(async () => {
  databaseUrl = await aDatabase()
  api = await startApi({ databaseUrl, settings: { ORRERY_ROUTE_GATEWAY: 'gateways/players/wss' } })
  tenant = await aTenant(api.url)
  namespace = `orrery-${tenant.scope.organizationId}`
  routed = await tenant.world({ networking: route })
})
afterAll(async () => {
  await api?.stop()
  await cluster.close()
})

type Problem = { code: string; detail: string; errors?: { path: string; message: string }[] }
type View = WorldBody & { networking: { strategy: string }; status: Record<string, unknown> }

const read = async (id: string) => (await tenant.rest.call<View>('GET', `/api/worlds/${id}/`)).body
const live = (id: string) => cluster.worlds.get({ namespace, name: id })
const edit = async (id: string, spec: object) => {
  await cluster.world(namespace, id).exists()
  cluster.kubectl('-n', namespace, 'patch', 'world', id, '--type=merge', '-p', JSON.stringify({ spec }))
}
const isPutBack = (id: string, reason: string, holds: (spec: WorldSpec) => boolean) =>
  eventually(`it is put back: ${reason}`, async () => {
    const { spec, status } = await live(id)
    const synced = status?.conditions?.find(({ type }) => type === 'Synced')
    return holds(spec) && synced?.status === 'False' && synced.message.includes(reason)
  })

test('with a Gateway, a world gets the strategy over REST and with kubectl', async () => {
  const [patched, edited] = [await tenant.world(), await tenant.world()]
  const { status } = await tenant.rest.call('PATCH', `/api/worlds/${patched}/`, { networking: route })
  expect(status).toBe(200)
  await edit(edited, { networking: { strategy: 'Route' } })
  await eventually('the edit in REST', async () => (await read(edited)).networking.strategy === 'Route')
  expect((await read(patched)).networking.strategy).toBe('Route')
})

test('the URL of an address is in REST, travel locations and realtime', async () => {
  await tenant.rest.call('POST', `/api/worlds/${routed}/start/`)
  const { spec, metadata } = await eventually('the grant', async () => {
    const world = await live(routed)
    return world.spec.granted !== undefined && world
  })
  const socket = await openSocket(api.url, tenant.scope)
  socket.subscribe('world', routed)
  const host = `${routed}.worlds.example.com`
  const addresses = [{ name: 'game', protocol: 'TCP', host, port: 443, url: `wss://${host}` }]
  const { uid: _, ...granted } = { uid: undefined, ...spec.granted }
  // As the operator writes it.
  const status = {
    phase: 'Active',
    runId: spec.runId,
    observedRevision: spec.revision,
    observedGeneration: metadata.generation,
    address: { host, port: 443 },
    addresses,
    run: { image: 'registry.example/a', ...granted, restarts: 0 },
  }
  const patch = JSON.stringify({ status })
  cluster.kubectl('-n', namespace, 'patch', 'world', routed, '--subresource=status', '--type=merge', '-p', patch)
  const reached = { address: status.address, addresses, strategy: 'Route' }
  await socket.hears('the URL', ({ data }) => data?.addresses !== undefined)
  expect(socket.updatesOf(routed).at(-1)?.data).toMatchObject(reached)
  expect((await read(routed)).status).toMatchObject(reached)
  const rest = await tenant.withKey([`${tenant.paths.project}/worlds/${routed}:r`])
  const locations = await rest.call<{ worlds: object[] }>('GET', '/api/worlds/travel/locations/')
  expect(locations.body.worlds).toMatchObject([{ worldId: routed, ...reached }])
  socket.terminate()
  await tenant.rest.call('POST', `/api/worlds/${routed}/stop/`)
})

test('without a Gateway, the strategy is refused with one sentence, also for a start of a world that has it', async () => {
  await api.stop()
  api = await startApi({ databaseUrl, port: Number(new URL(api.url).port) })
  const sentence = /needs a Gateway, and the platform has none. Choose another strategy/
  const errors = [{ path: '/networking/strategy', message: expect.stringMatching(sentence) }]
  const [plain, body] = [await tenant.world(), { name: 'Lobby', transient: false, networking: route }]
  for (const [method, path, sent] of [
    ['POST', '/api/worlds/', body],
    ['PATCH', `/api/worlds/${plain}/`, { networking: route }],
  ] as const) {
    const refused = await tenant.rest.call<Problem>(method, path, sent)
    expect(refused).toMatchObject({ status: 400, body: { code: 'invalid_request', errors } })
  }
  await edit(plain, { networking: { strategy: 'Route' } })
  const reason = 'spec.networking.strategy was put back: the networking strategy Route needs a Gateway'
  await isPutBack(plain, reason, ({ networking }) => networking.strategy === 'Default')

  const start = await tenant.rest.call<Problem>('POST', `/api/worlds/${routed}/start/`)
  expect(start).toMatchObject({ status: 409, body: { code: 'conflict', detail: expect.stringMatching(sentence) } })
  await edit(routed, { state: 'Running' })
  await isPutBack(routed, 'spec.state was put back: the networking strategy Route', ({ state }) => state === 'Stopped')
  expect((await live(routed)).spec.networking.strategy).toBe('Route')
  expect((await tenant.rest.call('PATCH', `/api/worlds/${routed}/`, { name: 'Foyer' })).status).toBe(200)
  await tenant.rest.call('PATCH', `/api/worlds/${routed}/`, { networking: { ...route, strategy: 'Default' } })
  expect((await tenant.rest.call('POST', `/api/worlds/${routed}/start/`)).status).toBe(200)
})
