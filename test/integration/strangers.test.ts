import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { botDeployments } from '#api/domain/bots/table.ts'
import { deployments, launchContexts, worlds } from '#api/domain/worlds/table.ts'
import { openDatabase } from '#api/platform/database/client.ts'
import { clusterOutbox } from '#api/platform/outbox/table.ts'
import { defaultPorts } from '#shared/domain/ports.ts'
import { createClient } from '#shared/kube/client.ts'
import { botDeploymentResource, groupVersion, worldResource } from '#shared/resources/group.ts'
import type { World } from '#shared/resources/world.ts'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, logLines, startApi } from '#test/support/processes.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
let api: ApiProcess
let owner: Tenant
let neighbour: Tenant
let database: ReturnType<typeof openDatabase>

beforeAll(async () => {
  const databaseUrl = await aDatabase()
  api = await startApi({ databaseUrl })
  database = openDatabase({ url: databaseUrl, poolSize: 2 })
  ;[owner, neighbour] = await Promise.all([aTenant(api.url), aTenant(api.url)])
  cluster.kubectl('create', 'namespace', 'elsewhere')
  // The first world of a tenant creates its namespace.
  await pushed(neighbour, await neighbour.world())
})
afterAll(async () => {
  await api?.stop()
  await database?.close()
  await cluster.close()
})

const namespaceOf = (tenant: Tenant): string => `orrery-${tenant.scope.organizationId}`
const clients = {
  World: createClient(cluster.transport, worldResource),
  BotDeployment: createClient(cluster.transport, botDeploymentResource),
}
type Kind = keyof typeof clients

const worldRow = async (id: string) => (await database.db.select().from(worlds).where(eq(worlds.id, id)))[0]
const botRow = async (id: string) =>
  (await database.db.select().from(botDeployments).where(eq(botDeployments.id, id)))[0]
const isSettled = async (id: string): Promise<boolean> =>
  (await database.db.select().from(clusterOutbox).where(eq(clusterOutbox.id, id))).length === 0

/** Waits until a row has been applied and has no pending push. */
const pushed = async (tenant: Tenant, id: string): Promise<void> => {
  const row = async () => (await worldRow(id)) ?? (await botRow(id))
  await eventually(`${id} of ${tenant.scope.organizationId} is pushed`, async () => {
    const { resourceUid = null, applied = null, revision } = (await row()) ?? {}
    return resourceUid !== null && applied?.revision === revision && (await isSettled(id))
  })
}

/** A started world with one bot deployment and one deployment in its history, as the operator would report it. */
const aVictim = async () => {
  const world = await owner.world()
  await owner.rest.call('POST', `/api/worlds/${world}/start/`)
  await owner.rest.call('POST', `/api/worlds/${world}/bots/`, { count: 2 })
  const listed = await owner.rest.call<{ documentId: string }[]>('GET', `/api/worlds/${world}/bots/`)
  const bots = listed.body[0]?.documentId ?? ''
  await pushed(owner, world)
  await pushed(owner, bots)
  const { spec } = await cluster.worlds.get({ namespace: namespaceOf(owner), name: world })
  await setStatus('World', namespaceOf(owner), world, statusOf(spec, { phase: 'Active', deployment: 'Running' }))
  await eventually('Active', async () => (await worldRow(world))?.phase === 'Active')
  return { world, bots, idOf: (kind: Kind): string => (kind === 'World' ? world : bots) }
}

const setStatus = (kind: Kind, namespace: string, name: string, status: object) =>
  cluster.transport.request({
    method: 'PATCH',
    path: `/apis/${groupVersion}/namespaces/${namespace}/${clients[kind].resource.plural}/${name}/status`,
    contentType: 'application/merge-patch+json',
    body: { status },
  })

const statusOf = (
  spec: { runId?: string; revision?: number },
  { phase, deployment }: { phase: string; deployment: string },
): object => {
  const { runId = '', revision = 1 } = spec
  const createdAt = new Date(0).toISOString()
  const run = {
    id: runId,
    startedAt: createdAt,
    image: 'i',
    profile: 'Capacity30',
    mapName: '',
    capacity: 30,
    probes: true,
    args: [],
    ports: defaultPorts,
    strategy: 'Default',
    restarts: 0,
  }
  return {
    phase,
    message: '',
    runId,
    observedRevision: revision,
    run,
    deployment: { id: `dep-${runId.slice(4)}`, externalId: 'pod', status: deployment, clusterName: '', createdAt },
  }
}

/** Returns everything that the database contains about the victim. */
const recordOf = async ({ world, bots }: { world: string; bots: string }) => ({
  world: await worldRow(world),
  bots: await botRow(bots),
  deployments: await database.db.select().from(deployments).where(eq(deployments.worldId, world)),
  settled: (await isSettled(world)) && (await isSettled(bots)),
})

/** Creates a resource with the victim's name and spec in another namespace. */
const aNamesake = async (kind: Kind, namespace: string, id: string, { finalizers = [] as string[] } = {}) => {
  const original = (await clients[kind].get({ namespace: namespaceOf(owner), name: id })) as unknown as { spec: object }
  const metadata = { namespace, name: id, finalizers }
  return clients[kind].create({ apiVersion: groupVersion, kind, metadata, spec: original.spec })
}

/** Waits until pull has seen everything written before. The watch delivers in order. */
const pullIsDone = async (kind: Kind): Promise<void> => {
  const world = await neighbour.world()
  await pushed(neighbour, world)
  const namespace = namespaceOf(neighbour)
  if (kind === 'World') {
    cluster.kubectl('-n', namespace, 'patch', 'world', world, '--type=merge', '-p', '{"spec":{"state":"Running"}}')
    return void (await eventually('a later edit is adopted', async () => (await worldRow(world))?.state === 'Running'))
  }
  await neighbour.rest.call('POST', `/api/worlds/${world}/bots/`, { count: 1 })
  const listed = await neighbour.rest.call<{ documentId: string }[]>('GET', `/api/worlds/${world}/bots/`)
  const bots = listed.body[0]?.documentId ?? ''
  await pushed(neighbour, bots)
  cluster.kubectl('-n', namespace, 'patch', 'botdeployment', bots, '--type=merge', '-p', '{"spec":{"count":2}}')
  await eventually('a later edit is adopted', async () => (await botRow(bots))?.count === 2)
}

type Target = { namespace: string; name: string }
const edit = (kind: Kind, { namespace, name }: Target, spec: object) =>
  clients[kind].patch({ namespace, name }, { spec })
const finalizers = ['orrery.dev/api']
const actions: [Kind, string, { finalizers?: string[] }, (target: Target) => Promise<unknown>][] = [
  ['World', 'is stopped', {}, (target) => edit('World', target, { state: 'Stopped' })],
  [
    'World',
    'is stopped and started',
    {},
    async (target) => {
      await edit('World', target, { state: 'Stopped' })
      await edit('World', target, { state: 'Running' })
    },
  ],
  ['World', 'is edited', {}, (target) => edit('World', target, { displayName: 'Taken', transient: true })],
  ['World', 'has a revision ahead of the row', {}, (target) => edit('World', target, { revision: 1_000 })],
  ['World', 'vanishes', {}, (target) => clients.World.delete(target)],
  ['World', 'is deleted behind the finalizer', { finalizers }, (target) => clients.World.delete(target)],
  [
    'World',
    'reports a phase and deployments',
    {},
    async (target) => {
      const { spec } = await cluster.worlds.get(target)
      await setStatus('World', target.namespace, target.name, statusOf(spec, { phase: 'Error', deployment: 'Error' }))
    },
  ],
  ['BotDeployment', 'is scaled', {}, (target) => edit('BotDeployment', target, { count: 7 })],
  ['BotDeployment', 'vanishes', {}, (target) => clients.BotDeployment.delete(target)],
  [
    'BotDeployment',
    'is deleted behind the finalizer',
    { finalizers },
    (target) => clients.BotDeployment.delete(target),
  ],
  [
    'BotDeployment',
    'reports a phase',
    {},
    (target) => setStatus('BotDeployment', target.namespace, target.name, { phase: 'Error', message: 'Taken' }),
  ],
]
const places = [
  ['a namespace of nobody', () => 'elsewhere'],
  ["another tenant's namespace", () => namespaceOf(neighbour)],
] as const

describe.each(places)('a namesake in %s', (_, place) => {
  test.each(actions)('changes nothing in the row when the %s %s', async (kind, _title, options, act) => {
    const victim = await aVictim()
    const before = await recordOf(victim)
    const target = { namespace: place(), name: victim.idOf(kind) }
    await aNamesake(kind, target.namespace, target.name, options)
    await act(target)
    await pullIsDone(kind)
    expect(await recordOf(victim)).toEqual(before)
    const said = logLines(api.logFile).filter(({ msg, world, bot }) => {
      return String(msg).includes('vanished') && [world, bot].includes(target.name)
    })
    expect(said).toEqual([])
  })
})

test.each<Kind>(['World', 'BotDeployment'])('a %s never takes the id of a row that is gone', async (kind) => {
  const victim = await aVictim()
  const id = victim.idOf(kind)
  const namespace = namespaceOf(neighbour)
  const original = (await clients[kind].get({ namespace: namespaceOf(owner), name: id })) as unknown as { spec: object }
  const { revision: _, runId: __, startedAt: ___, ...spec } = original.spec as Record<string, unknown>
  await database.db.delete(botDeployments).where(eq(botDeployments.id, victim.bots))
  if (kind === 'World') await database.db.delete(worlds).where(eq(worlds.id, victim.world))
  await clients[kind].create({ apiVersion: groupVersion, kind, metadata: { namespace, name: id }, spec })
  const refused = await eventually('the refusal', async () => {
    const { status } = (await clients[kind].get({ namespace, name: id })) as { status?: World['status'] }
    return status?.conditions?.find(({ type }) => type === 'Synced')
  })
  expect(refused).toMatchObject({ status: 'False', reason: 'NotAdopted' })
  expect(refused.message).toContain('Choose another name.')
  expect([await worldRow(id), await botRow(id)]).toEqual([undefined, undefined])
})

test('a stranger is reported once, in the log and as a metric', async () => {
  const victim = await aVictim()
  const { metadata } = await aNamesake('World', namespaceOf(neighbour), victim.world)
  await edit('World', { namespace: namespaceOf(neighbour), name: victim.world }, { displayName: 'One' })
  await edit('World', { namespace: namespaceOf(neighbour), name: victim.world }, { displayName: 'Two' })
  await pullIsDone('World')
  const reports = logLines(api.logFile).filter(({ uid }) => uid === metadata.uid)
  expect(reports).toMatchObject([{ kind: 'World', namespace: namespaceOf(neighbour), name: victim.world }])
  expect(await (await fetch(api.metricsUrl)).text()).toMatch(/^orrery_strangers\{kind="World"\} [1-9]/m)
})

test("a resource outside the organizations' namespaces keeps a finalizer that another API may wait for", async () => {
  const metadata = { namespace: 'elsewhere', name: 'of-another-api', finalizers }
  await clients.World.create({ apiVersion: groupVersion, kind: 'World', metadata, spec: { state: 'Stopped' } })
  await clients.World.delete({ namespace: 'elsewhere', name: 'of-another-api' })
  await pullIsDone('World')
  expect((await clients.World.get({ namespace: 'elsewhere', name: 'of-another-api' })).metadata.finalizers).toEqual(
    finalizers,
  )
  cluster.kubectl(
    '-n',
    'elsewhere',
    'patch',
    'world',
    'of-another-api',
    '--type=merge',
    '-p',
    '{"metadata":{"finalizers":null}}',
  )
})

test("a resource without a row in an organization's namespace can be deleted", async () => {
  const metadata = { namespace: namespaceOf(neighbour), name: 'without-row', finalizers }
  await clients.World.create({ apiVersion: groupVersion, kind: 'World', metadata, spec: { state: 'Stopped' } })
  await clients.World.delete(metadata)
  await cluster.world(metadata.namespace, metadata.name).isGone()
})

test('an orphan keeps the id in its status, under which it can be adopted', async () => {
  const metadata = { namespace: namespaceOf(neighbour), name: 'named-by-hand' }
  await clients.World.create({ apiVersion: groupVersion, kind: 'World', metadata, spec: { state: 'Stopped' } })
  const read = async () => (await cluster.worlds.get(metadata)).status
  const id = await eventually('its id', async () => (await read())?.worldId)
  await pushed(neighbour, id)
  await database.db.delete(launchContexts).where(eq(launchContexts.worldId, id))
  await database.db.delete(worlds).where(eq(worlds.id, id))
  cluster.kubectl('-n', metadata.namespace, 'annotate', 'world', metadata.name, 'example.com/seen=again')
  const reason = async () => (await read())?.conditions?.find(({ type }) => type === 'Synced')?.reason
  await eventually('the finding', async () => (await reason()) === 'Orphan')
  expect((await read())?.worldId).toBe(id)
})

test('a resource of the same namespace with another uid replaces the one on record', async () => {
  const world = await owner.world()
  await pushed(owner, world)
  const namespace = namespaceOf(owner)
  const { spec, metadata } = await cluster.worlds.get({ namespace, name: world })
  await clients.World.patch({ namespace, name: world }, { metadata: { finalizers: null } })
  await clients.World.delete({ namespace, name: world })
  const made = await clients.World.create({
    apiVersion: groupVersion,
    kind: 'World',
    metadata: { namespace, name: world },
    spec: { ...spec, state: 'Running' },
  }).catch(() => cluster.worlds.get({ namespace, name: world }))
  expect(made.metadata.uid).not.toBe(metadata.uid)
  await eventually('the row follows the new resource', async () => {
    const live = await cluster.worlds.get({ namespace, name: world })
    return (await worldRow(world))?.resourceUid === live.metadata.uid && live.metadata.uid !== metadata.uid
  })
})
