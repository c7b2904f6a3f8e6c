import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openSession } from '#api/platform/database/pool.ts'
import { aCluster } from '#test/support/cluster.ts'
import { createGate } from '#test/support/gate.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import { getServers } from '#test/support/servers.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>
let tenant: Tenant

beforeAll(async () => {
  const databaseUrl = await aDatabase()
  ;[api, operator] = await Promise.all([startApi({ databaseUrl }), startOperator()])
  tenant = await aTenant(api.url)
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop()])
  await cluster.close()
})

type WorldView = {
  documentId: string
  name: string
  description?: string
  transient: boolean
  metadata: { labels: Record<string, string>; annotations: Record<string, string> }
  compute: { group: string; region: string }
  networking: { strategy: string; scaling: { profile: string } }
  runtime: { mapName: string; capacity: number; durationMinutes?: number }
  admission: { capacity: number }
  status: { phase: string; message: string; runId?: string; startedAt?: string }
  launchContext: { name: string; description?: string; capacity: number }
}

const namespaceOf = ({ scope }: Tenant): string => `orrery-${scope.organizationId}`

/** A world as REST and kubectl see it. */
const view = (of: Tenant, id: string, name = id) => {
  const namespace = namespaceOf(of)
  const read = async (): Promise<WorldView> => (await of.rest.call<WorldView>('GET', `/api/worlds/${id}/`)).body
  const live = () => cluster.worlds.get({ namespace, name })
  const synced = async () => (await live()).status?.conditions?.find(({ type }) => type === 'Synced')
  return {
    id,
    name,
    namespace,
    read,
    live,
    synced,
    rest: (method: string, path: string, body?: object) => of.rest.call(method, `/api/worlds/${id}/${path}`, body),
    edit: (spec: object) =>
      cluster.kubectl('-n', namespace, 'patch', 'world', name, '--type=merge', '-p', JSON.stringify({ spec })),
    shows: (what: string, holds: (world: WorldView) => boolean) =>
      eventually(`REST shows ${what}`, async () => {
        const world = await read()
        return holds(world) && world
      }),
    resourceShows: (what: string, holds: (world: Awaited<ReturnType<typeof live>>) => boolean) =>
      eventually(`the resource shows ${what}`, async () => {
        const world = await live()
        return holds(world) && world
      }),
    refusal: (text: string) =>
      eventually(`Synced is False: ${text}`, async () => {
        const condition = await synced()
        return condition?.status === 'False' && condition.message.includes(text) && condition
      }),
    events: () =>
      cluster.kubectl(
        '-n',
        namespace,
        'get',
        'events.events.k8s.io',
        '-o',
        'json',
        '--field-selector',
        `regarding.name=${name}`,
      ),
    pod: () => cluster.pod(namespace, name),
  }
}

const aWorld = async (body: object = {}, of = tenant) => {
  const world = view(of, await of.world(body))
  await cluster.world(world.namespace, world.id).exists()
  return world
}

describe('an edit of a World with kubectl', () => {
  test('of any field that REST can change appears in REST, in the launch context too', async () => {
    const world = await aWorld({ metadata: { labels: { keep: 'me', drop: 'me' } }, runtime: { durationMinutes: 5 } })
    world.edit({
      displayName: 'Foyer',
      description: 'By kubectl',
      transient: true,
      durationMinutes: 90,
      scaling: { profile: 'Capacity60' },
      compute: { group: 'staging', region: 'NorthAmerica' },
      networking: { strategy: 'NodePort', ports: [{ name: 'web', containerPort: 9000, protocol: 'TCP' }] },
      runtime: { mapName: 'hall', capacity: 45 },
      metadata: { labels: { team: 'events', drop: null }, annotations: { 'a/b~c.d': 'x' } },
    })
    const seen = await world.shows('the edits', ({ name }) => name === 'Foyer')
    expect(seen).toMatchObject({
      description: 'By kubectl',
      transient: true,
      runtime: { mapName: 'hall', capacity: 45, durationMinutes: 90 },
      networking: {
        strategy: 'NodePort',
        ports: [{ name: 'web', containerPort: 9000, protocol: 'TCP', expose: 'Public' }],
        scaling: { profile: 'Capacity60' },
      },
      compute: { group: 'staging', region: 'NorthAmerica' },
      admission: { capacity: 45 },
      launchContext: { name: 'Foyer', description: 'By kubectl', capacity: 45 },
    })
    expect(seen.metadata).toEqual({ labels: { keep: 'me', team: 'events' }, annotations: { 'a/b~c.d': 'x' } })
    world.edit({ durationMinutes: null })
    await world.shows('no duration', ({ runtime }) => runtime.durationMinutes === undefined)
    await world.rest('PATCH', '', { name: 'Hall' })
    const after = await world.resourceShows('the next REST write', ({ spec }) => spec.displayName === 'Hall')
    expect(after.spec).toMatchObject({ description: 'By kubectl', runtime: { mapName: 'hall', capacity: 45 } })
  })

  test('of a field that REST removes afterwards stays removed', async () => {
    const world = await aWorld()
    world.edit({ durationMinutes: 90, metadata: { labels: { team: 'events' } } })
    await world.shows('the edits', ({ runtime }) => runtime.durationMinutes === 90)
    await world.rest('PATCH', '', { runtime: {}, metadata: { labels: {}, annotations: {} } })
    await world.resourceShows(
      'their end',
      ({ spec }) => spec.durationMinutes === undefined && spec.metadata.labels.team === undefined,
    )
    const { runtime, metadata } = await world.read()
    expect([runtime.durationMinutes, metadata.labels]).toEqual([undefined, {}])
  })

  test('of the image and the arguments is kept while REST names no build', async () => {
    const world = await aWorld()
    world.edit({ runtime: { image: 'registry.example/own:1', args: ['--own'], probes: false } })
    await world.resourceShows('the adoption', ({ spec }) => (spec.revision ?? 0) > 1)
    await world.rest('PATCH', '', { name: 'Foyer' })
    const { spec } = await world.resourceShows('the REST write', ({ spec: { displayName } }) => displayName === 'Foyer')
    expect(spec.runtime).toMatchObject({ image: 'registry.example/own:1', args: ['--own'], probes: false })
    await world.rest('POST', 'start/')
    const pod = await world.pod().exists()
    expect(pod.spec?.containers?.[0]).toMatchObject({ image: 'registry.example/own:1', args: ['--own'] })
  })

  test('of the image is put back where REST names a build, and a condition and an event say so', async () => {
    const build = { image: 'registry.example/build:1', contentId: 'content-1' }
    await tenant.rest.call('PUT', '/api/builds/main/stable/', build)
    const world = await aWorld({ runtime: { build: { channelId: 'main', tag: 'stable' } } })
    world.edit({ runtime: { image: 'registry.example/own:1' } })
    await world.refusal('spec.runtime.image')
    await world.resourceShows('no image', ({ spec }) => spec.runtime.image === undefined)
    await eventually('the event', async () => world.events().includes('spec.runtime.image'))
    await world.rest('POST', 'start/')
    await world.resourceShows('the image of the build', ({ spec }) => spec.runtime.image === build.image)
    await eventually('Synced is True again', async () => (await world.synced())?.status === 'True')
  })

  test('that REST would refuse is put back, and the rest of the edit is adopted', async () => {
    const world = await aWorld()
    world.edit({ displayName: '', scaling: { profile: 'Capacity2500' }, runtime: { mapName: 'hall' } })
    await world.shows('the map', ({ runtime }) => runtime.mapName === 'hall')
    const { message } = await world.refusal('largeWorlds')
    expect(message).toContain('spec.displayName')
    const { spec } = await world.resourceShows('the name', ({ spec: { displayName } }) => displayName === 'Lobby')
    expect(spec).toMatchObject({ scaling: { profile: 'Capacity30' }, runtime: { mapName: 'hall' } })
  })

  test('merges with a REST write that waits: REST keeps only what both changed', async () => {
    const gate = await createGate(getServers().apiKubeconfig)
    const away = await startApi({ databaseUrl: await aDatabase(), kubeconfig: gate.kubeconfig })
    const of = await aTenant(away.url)
    const world = await aWorld({}, of)
    await eventually('it is pushed', async () => (await world.live()).metadata.finalizers?.length === 1)
    gate.close()
    await world.rest('PATCH', '', {
      name: 'By REST',
      networking: { strategy: 'NodePort', scaling: { profile: 'Capacity30' } },
    })
    world.edit({ displayName: 'By kubectl', description: 'By kubectl', durationMinutes: 7 })
    gate.open()
    const seen = await world.shows('the merge', ({ description }) => description === 'By kubectl')
    expect(seen).toMatchObject({
      name: 'By REST',
      runtime: { durationMinutes: 7 },
      networking: { strategy: 'NodePort' },
    })
    const { spec } = await world.resourceShows('the merge', ({ spec: { displayName } }) => displayName === 'By REST')
    expect(spec).toMatchObject({ description: 'By kubectl', durationMinutes: 7, networking: { strategy: 'NodePort' } })
    await away.stop()
    await gate.remove()
  })

  test('of runId is put back, and the server of the run is not replaced', async () => {
    const world = await aWorld()
    await world.rest('POST', 'start/')
    const first = await world.pod().exists()
    await world.pod().becomesReady()
    const { status } = await world.shows('Active', ({ status: { phase } }) => phase === 'Active')
    const { spec } = await world.live()
    // The operator would follow the edit at once. Without it, only the API acts.
    await operator.stop()
    world.edit({ runId: `run-${'0'.repeat(26)}`, startedAt: '2020-01-01T00:00:00.000Z' })
    try {
      await world.refusal('spec.runId')
      await world.resourceShows(
        'the run of REST',
        (now) => now.spec.runId === spec.runId && now.spec.startedAt === spec.startedAt,
      )
    } finally {
      operator = await startOperator()
    }
    expect((await world.read()).status.runId).toBe(status.runId)
    expect((await world.pod().exists()).metadata.uid).toBe(first.metadata.uid)
  })

  test('of the revision makes the row continue above it', async () => {
    const world = await aWorld()
    world.edit({ revision: 3_000_000_000, description: 'Ahead' })
    await world.shows('the edit', ({ description }) => description === 'Ahead')
    await world.resourceShows('the next revision', ({ spec }) => spec.revision === 3_000_000_001)
    expect((await world.rest('PATCH', '', { name: 'Foyer' })).status).toBe(200)
    await world.resourceShows('the REST write', ({ spec }) => spec.displayName === 'Foyer')
  })

  test('that no process can read is put back, and the world can still be stopped and deleted', async () => {
    const world = await aWorld()
    await world.rest('POST', 'start/')
    await world.pod().exists()
    await world.pod().becomesReady()
    await world.shows('Active', ({ status }) => status.phase === 'Active')
    // The definition allows an empty key, and the schema of the resource does not.
    world.edit({ state: 'Stopped', metadata: { labels: { '': 'x', ok: 'x' } } })
    await world.pod().isGone()
    await world.shows('the stop and the readable label', ({ status, metadata }) => {
      return status.phase === 'Stopped' && metadata.labels.ok === 'x' && Object.keys(metadata.labels).length === 1
    })
    await world.refusal('spec.metadata.labels')
    await world.resourceShows('the label gone', ({ spec }) => Object.keys(spec.metadata.labels).join() === 'ok')
    expect((await world.rest('DELETE', '')).status).toBe(200)
    await cluster.world(world.namespace, world.id).isGone()
  })
})

test('a label that no process can read stops neither the operator alone nor a deletion', async () => {
  const namespace = 'unreadable'
  cluster.kubectl('create', 'namespace', namespace)
  cluster.allowOperator(namespace)
  await cluster.worlds.create({
    apiVersion: 'orrery.dev/v1alpha1',
    kind: 'World',
    metadata: { namespace, name: 'odd' },
    spec: { state: 'Running', metadata: { labels: { '': 'x' } } },
  })
  await cluster.pod(namespace, 'odd').exists()
  cluster.kubectl('-n', namespace, 'patch', 'world', 'odd', '--type=merge', '-p', '{"spec":{"state":"Stopped"}}')
  await cluster.pod(namespace, 'odd').isGone()
})

test('REST and kubectl agree while no replica pulls', async () => {
  const databaseUrl = await aDatabase()
  const holder = await openSession({ connectionString: databaseUrl }, () => undefined)
  await holder.client.query("select pg_advisory_lock(7211404, hashtext('default'))")
  const alone = await startApi({ databaseUrl })
  const of = await aTenant(alone.url)
  const world = await aWorld({}, of)
  await world.rest('PATCH', '', { name: 'First' })
  await world.resourceShows('the first write', ({ spec }) => spec.displayName === 'First')
  world.edit({ description: 'By kubectl' })
  await world.rest('PATCH', '', { name: 'Second' })
  await world.resourceShows('the second write', ({ spec }) => spec.displayName === 'Second')
  await world.shows('the edit', ({ description }) => description === 'By kubectl')
  await holder.close()
  await alone.stop()
})
