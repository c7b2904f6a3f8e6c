import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { idleRule } from '#shared/domain/idle.ts'
import { idOfUid } from '#shared/ids.ts'
import { withDefined } from '#shared/optional.ts'
import { groupVersion } from '#shared/resources/group.ts'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import type { WorldBody } from '#test/support/rest.ts'
import { openSocket } from '#test/support/socket.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
let api: ApiProcess
let tenant: Tenant
let namespace: string

// There is no operator: the tests write what it would report.
beforeAll(async () => {
  api = await startApi({ databaseUrl: await aDatabase() })
  tenant = await aTenant(api.url)
  namespace = `orrery-${tenant.scope.organizationId}`
  for (const probes of [true, false]) await putBuild(probes ? 'counted' : 'silent', probes)
  // The first world of a tenant makes its namespace.
  await cluster.world(namespace, await tenant.world()).exists()
})
afterAll(async () => {
  await api?.stop()
  await cluster.close()
})

type Settings = { build?: object; query?: object; idleStopMinutes?: number; wakeOnAccess?: string }
type World = WorldBody & { runtime: Settings; status: { idle?: object; conditions: object[] } }
type Problem = { detail: string; errors?: { path: string; message: string }[] }

const query = { protocol: 'A2S', port: 9000, timeoutSeconds: 2 }
const ports = [{ name: 'main', containerPort: 9000, protocol: 'UDP' }]
const networking = { ports }
const refused = { status: 400, body: { errors: [{ path: '/runtime/idleStopMinutes', message: idleRule.message }] } }
const refusedStart = { status: 422, body: { detail: `${idleRule.message}.` } }
const build = (tag: string) => ({ channelId: 'main', tag })
const putBuild = async (tag: string, probes: boolean): Promise<void> => {
  const body = { image: `registry.example/${tag}:1`, contentId: tag, probes }
  expect((await tenant.rest.call('PUT', `/api/builds/main/${tag}/`, body)).status).toBe(200)
}
const create = (runtime: Settings) =>
  tenant.rest.call<Problem & { worldId: string }>('POST', '/api/worlds/', {
    name: 'Lobby',
    transient: false,
    networking,
    runtime,
  })
const aWorldByHand = (name: string, spec: object) =>
  cluster.worlds.create({
    apiVersion: groupVersion,
    kind: 'World',
    metadata: { namespace, name, labels: { 'orrery.dev/project': tenant.scope.projectId } },
    spec: { networking, ...spec },
  } as never)

/** A world as REST and kubectl see it. */
const view = (id: string, name = id) => {
  const path = `/api/worlds/${id}/`
  const read = async (): Promise<World> => (await tenant.rest.call<World>('GET', path)).body
  const live = () => cluster.worlds.get({ namespace, name })
  const patch = (target: object, ...more: string[]) =>
    cluster.kubectl('-n', namespace, 'patch', 'world', name, '--type=merge', '-p', JSON.stringify(target), ...more)
  return {
    id,
    path,
    read,
    live,
    edit: (spec: object) => patch({ spec }),
    patch: (body: object) => tenant.rest.call<World & Problem>('PATCH', path, body),
    post: (action: string) => tenant.rest.call<Problem>('POST', `${path}${action}/`),
    shows: (what: string, holds: (world: World) => boolean) => eventually(what, async () => holds(await read())),
    resourceShows: (what: string, holds: (spec: Awaited<ReturnType<typeof live>>['spec']) => boolean) =>
      eventually(what, async () => holds((await live()).spec)),
    refusal: (text: string) =>
      eventually(`Synced is False: ${text}`, async () => {
        const condition = (await live()).status?.conditions?.find(({ type }) => type === 'Synced')
        return condition?.status === 'False' && condition.message.includes(text)
      }),
    /** Writes a part of the status, as the operator does. */
    reports: async (status: object) => {
      const { spec } = await live()
      patch({ status: { observedRevision: spec.revision, runId: spec.runId, ...status } }, '--subresource=status')
    },
  }
}

const aWorld = async (runtime: Settings = {}) => {
  const { status, body } = await create(runtime)
  expect(status).toBe(200)
  await cluster.world(namespace, body.worldId).exists()
  return view(body.worldId)
}

describe('the rule of idleStopMinutes', () => {
  test.each([
    ['with probes', { probes: true }, 'accepted'],
    ['with probes and a query', { probes: true, query }, 'accepted'],
    ['without probes', { probes: false }, 'refused'],
    ['without probes but with a query', { probes: false, query }, 'accepted'],
  ])('is the same in REST and in the resource %s', async (title, { probes, ...more }, expected) => {
    const answer = await create({ build: build(probes ? 'counted' : 'silent'), idleStopMinutes: 15, ...more })
    expect(answer).toMatchObject(expected === 'refused' ? refused : { status: 200 })
    const world = aWorldByHand(title.replaceAll(' ', '-'), { idleStopMinutes: 15, runtime: { probes, ...more } })
    if (expected === 'refused') await expect(world).rejects.toThrow(idleRule.message)
    else await world
  })

  test.each([
    ['idleStopMinutes', 0],
    ['idleStopMinutes', 43_201],
    ['idleStopMinutes', 1.5],
    ['idleStopMinutes', null],
    ['wakeOnAccess', 'Always'],
  ])('no door accepts %s %s', async (setting, value) => {
    expect(await create({ [setting]: value })).toMatchObject({
      status: 400,
      body: { errors: [{ path: `/runtime/${setting}` }] },
    })
    // Null removes a field of a resource.
    if (value !== null) await expect(aWorldByHand('refused', { [setting]: value })).rejects.toThrow(setting)
  })

  test('of REST does not check a build that does not resolve, until a start', async () => {
    const world = await aWorld({ build: build('later'), idleStopMinutes: 15 })
    expect((await world.post('start')).status).toBe(422)
    await putBuild('later', false)
    expect(await world.patch({ runtime: { build: build('later'), idleStopMinutes: 20 } })).toMatchObject(refused)
    expect(await world.post('start')).toMatchObject(refusedStart)
    await putBuild('later', true)
    expect((await world.post('start')).status).toBe(200)
    await world.resourceShows('the run', ({ granted, idleStopMinutes }) => !!granted?.probes && idleStopMinutes === 15)
  })

  test('holds for the program of the last run too, which the resource shows', async () => {
    const world = await aWorld({ build: build('silent') })
    expect((await world.post('start')).status).toBe(200)
    await world.resourceShows('its program', ({ runtime }) => !runtime.probes)
    expect((await world.post('stop')).status).toBe(200)
    for (const runtime of [{}, { build: build('counted') }, { build: build('silent') }]) {
      expect(await world.patch({ runtime: { ...runtime, idleStopMinutes: 5 } })).toMatchObject(refused)
    }
    expect((await world.patch({ runtime: { build: build('silent'), query, idleStopMinutes: 5 } })).status).toBe(200)
    await world.resourceShows('the setting', ({ idleStopMinutes }) => idleStopMinutes === 5)
    expect(await world.patch({ runtime: { build: build('silent'), idleStopMinutes: 5 } })).toMatchObject(refused)
    expect((await world.patch({ name: 'Foyer' })).status).toBe(200)
    expect((await world.patch({ runtime: { build: build('silent') } })).body.runtime).not.toHaveProperty('query')
  })

  test('refuses edits and starts with kubectl for the build that a start would run', async () => {
    const world = await aWorld({ build: build('silent') })
    const { revision } = (await world.live()).spec
    world.edit({ idleStopMinutes: 5, description: 'Kept' })
    await world.refusal(idleRule.message)
    await world.resourceShows('no setting', ({ idleStopMinutes }) => idleStopMinutes === undefined)
    expect((await world.read()).runtime).not.toHaveProperty('idleStopMinutes')
    world.edit({ idleStopMinutes: 5, runtime: { query } })
    await world.shows('both settings', ({ runtime }) => runtime.idleStopMinutes === 5 && runtime.query !== undefined)
    world.edit({ runtime: { query: null } })
    await world.refusal(idleRule.message)
    await world.resourceShows('the query', ({ runtime }) => runtime.query !== undefined)
    world.edit({ idleStopMinutes: null, runtime: { query: null } })
    await world.shows('neither', ({ runtime }) => !('idleStopMinutes' in runtime) && !('query' in runtime))
    expect((await world.live()).spec.revision).toBeGreaterThan(revision ?? 0)

    await putBuild('moving', true)
    const moving = await aWorld({ build: build('moving'), idleStopMinutes: 5 })
    await putBuild('moving', false)
    moving.edit({ state: 'Running' })
    await moving.refusal(idleRule.message)
    await moving.resourceShows('the stop', ({ state }) => state === 'Stopped')
    expect((await moving.read()).status.runId).toBeUndefined()
  })
})

test('the settings act at once: REST and kubectl change and remove them, and none of them waits for the next start', async () => {
  const world = await aWorld({ idleStopMinutes: 15, wakeOnAccess: 'Access' })
  await world.resourceShows('both', (spec) => spec.idleStopMinutes === 15 && spec.wakeOnAccess === 'Access')
  expect((await world.post('start')).status).toBe(200)
  const after = await world.patch({ runtime: { idleStopMinutes: 30 } })
  expect(after.body).toMatchObject({ runtime: { idleStopMinutes: 30 }, status: { message: '' } })
  expect(after.body.runtime).not.toHaveProperty('wakeOnAccess')
  await world.resourceShows('the change', (spec) => spec.idleStopMinutes === 30 && spec.wakeOnAccess === undefined)
  world.edit({ idleStopMinutes: 45, wakeOnAccess: 'Never' })
  await world.shows('the edit', ({ runtime }) => runtime.idleStopMinutes === 45 && runtime.wakeOnAccess === 'Never')
  world.edit({ idleStopMinutes: null, wakeOnAccess: null })
  await world.shows('no settings', ({ runtime }) => !('idleStopMinutes' in runtime) && !('wakeOnAccess' in runtime))
})

describe('the default of an organization', () => {
  const path = '/api/organizations/current/'
  const setDefault = async (idleStopMinutes: number | null): Promise<void> => {
    expect((await tenant.rest.call('PATCH', path, { idleStopMinutes })).status).toBe(204)
  }
  const listed = async () => {
    const { body } = await tenant.rest.call<{ documentId: string }[]>('GET', '/api/organizations/')
    return body.find(({ documentId }) => documentId === tenant.scope.organizationId)
  }

  test('is for new worlds that say nothing and can be counted, from both doors, and members alone see it', async () => {
    const before = await aWorld()
    expect(await listed()).not.toHaveProperty('idleStopMinutes')
    await setDefault(25)
    expect(await listed()).toMatchObject({ idleStopMinutes: 25 })
    expect((await tenant.rest.call('GET', path)).body).not.toHaveProperty('idleStopMinutes')
    for (const value of [0, 43_201, 1.5]) {
      expect((await tenant.rest.call('PATCH', path, { idleStopMinutes: value })).status).toBe(400)
    }

    const cases: [Settings, number | undefined][] = [
      [{}, 25],
      [{ idleStopMinutes: 5 }, 5],
      [{ build: build('counted') }, 25],
      [{ build: build('silent') }, undefined],
      [{ build: build('silent'), query }, 25],
    ]
    for (const [runtime, expected] of cases) {
      const world = await aWorld(runtime)
      expect((await world.read()).runtime).toEqual(
        expect.objectContaining({ ...runtime, ...withDefined({ idleStopMinutes: expected }) }),
      )
      expect((await world.live()).spec.idleStopMinutes).toBe(expected)
    }
    const byHand: [string, object, number | undefined][] = [
      ['says-nothing', {}, 25],
      ['says-five', { idleStopMinutes: 5 }, 5],
      ['silent', { runtime: { probes: false } }, undefined],
      ['silent-with-query', { runtime: { probes: false, query } }, 25],
    ]
    for (const [name, spec, expected] of byHand) {
      const made = await aWorldByHand(name, { displayName: name, ...spec })
      const world = view(idOfUid('world', made.metadata.uid ?? ''), name)
      await world.shows('the row', (shown) => shown.name === name)
      expect((await world.read()).runtime.idleStopMinutes).toBe(expected)
      await world.resourceShows('the push', (now) => now.revision !== undefined && now.idleStopMinutes === expected)
      // A later edit of another field keeps it, and a removal is one.
      world.edit({ description: 'Edited' })
      await world.shows('the edit', ({ description }) => description === 'Edited')
      expect((await world.read()).runtime.idleStopMinutes).toBe(expected)
      world.edit({ idleStopMinutes: null })
      await world.shows('the removal', ({ runtime }) => runtime.idleStopMinutes === undefined)
    }

    expect((await before.read()).runtime).not.toHaveProperty('idleStopMinutes')
    await setDefault(null)
    expect(await listed()).not.toHaveProperty('idleStopMinutes')
    expect((await (await aWorld()).read()).runtime).not.toHaveProperty('idleStopMinutes')
  })
})

describe('the sleep that the operator reports', () => {
  const at = (minutes: number) => new Date(Date.UTC(2026, 0, 1, 12, minutes)).toISOString()
  /** A world whose run ends because nobody was in it. */
  const aSleeper = async (runtime: Settings = {}) => {
    const world = await aWorld({ idleStopMinutes: 15, wakeOnAccess: 'Access', ...runtime })
    expect((await world.post('start')).status).toBe(200)
    const granted = await eventually('the grant', async () => (await world.live()).spec.granted)
    const { uid: _, organizationId: __, projectId: ___, worldId: ____, ...captured } = granted
    const run = { image: 'registry.example/own:1', ...captured, restarts: 0 }
    const deployment = { id: `dep-${granted.id.slice(4)}`, externalId: 'pod', createdAt: granted.startedAt }
    const addresses = [{ name: 'main', protocol: 'UDP', host: '10.0.0.1', port: 9000 }]
    const runs = (idle: object, more: object = {}) =>
      world.reports({
        phase: 'Active',
        idle,
        addresses,
        run,
        deployment: { ...deployment, status: 'Running' },
        ...more,
      })
    const sleeps = async () => {
      const end = { endedAt: at(15), endReason: 'Idle', endMessage: 'Nobody was in the world for 15 minutes.' }
      await world.reports({
        phase: 'Stopped',
        idle: { since: at(0), asleepSince: at(15), sleepsAt: null, keptAwakeBy: null },
        addresses: null,
        run: { ...run, ...end },
        deployment: { ...deployment, status: 'Stopped' },
      })
      await world.shows('the sleep', ({ status }) => status.phase === 'Stopped')
    }
    return { ...world, runs, sleeps }
  }

  test('is in REST, the feed and the record of the run, with an event, and no stranger sees it', async () => {
    const world = await aSleeper()
    await world.patch({ isPublic: true })
    const socket = await openSocket(api.url, tenant.scope)
    socket.subscribe('worlds', tenant.scope.projectId)
    const fed = () =>
      socket
        .updatesOf(tenant.scope.projectId)
        .flatMap(({ data }) => (data as { worlds: { worldId: string; status: World['status'] }[] }).worlds)
        .findLast(({ worldId }) => worldId === world.id)?.status.idle
    const message = 'The world does not sleep, because A2S at port 9000 does not answer.'
    const lastTransitionTime = at(0)
    const condition = { type: 'Idle', status: 'Unknown', reason: 'UnknownCounts', message, lastTransitionTime }
    await world.runs({ keptAwakeBy: 'UnknownCounts' }, { conditions: [{ ...condition, observedGeneration: 1 }] })
    await world.shows('why it is awake', ({ status }) => status.idle !== undefined)
    expect((await world.read()).status).toMatchObject({ phase: 'Active', idle: { keptAwakeBy: 'UnknownCounts' } })
    await eventually('the feed', async () => JSON.stringify(fed()) === '{"keptAwakeBy":"UnknownCounts"}')

    const stranger = await (await aTenant(api.url)).withKey([])
    const shown = (await stranger.call<World[]>('GET', '/api/worlds/public/')).body
    const text = JSON.stringify(shown.find(({ documentId }) => documentId === world.id))
    expect(text).toContain('Active')
    expect(text).not.toMatch(/idle|awake|wake|sleep|UnknownCounts/i)

    const empty = { since: at(0), sleepsAt: at(15) }
    await world.runs({ ...empty, keptAwakeBy: null })
    await world.shows('the clock', ({ status }) => 'idle' in status && JSON.stringify(status.idle).includes('sleepsAt'))
    expect((await world.read()).status.idle).toEqual(empty)
    await eventually('the feed', async () => JSON.stringify(fed())?.includes('sleepsAt'))
    await world.runs({ keptAwakeBy: 'Players', since: null, sleepsAt: null })
    await eventually('the players', async () => JSON.stringify((await world.read()).status.idle).includes('Players'))

    await world.sleeps()
    expect((await world.read()).status).toMatchObject({
      phase: 'Stopped',
      idle: { since: at(0), asleepSince: at(15) },
    })
    expect((await world.live()).spec.state).toBe('Running')
    const deployments = await tenant.rest.call<object[]>('GET', `${world.path}deployments/`)
    expect(deployments.body).toMatchObject([{ status: 'Stopped', endReason: 'Idle' }])
    const events = await tenant.rest.call<{ reason: string; message: string }[]>('GET', `${world.path}events/`)
    expect(events.body).toContainEqual(
      expect.objectContaining({ type: 'Normal', reason: 'Idle', message: 'Nobody was in the world for 15 minutes.' }),
    )
    socket.terminate()
  })

  test('ends with a start, with a stop of one world or of many, and with a deletion', async () => {
    const [started, stopped, many, deleted] = await Promise.all([aSleeper(), aSleeper(), aSleeper(), aSleeper()])
    for (const world of [started, stopped, many, deleted]) await world.sleeps()
    expect((await started.post('start')).status).toBe(200)
    expect((await started.read()).status).toMatchObject({ phase: 'Starting' })
    expect((await stopped.post('stop')).status).toBe(200)
    const body = { action: 'stop', ids: [many.id] }
    const bulk = await tenant.rest.call<{ results: object[] }>('POST', '/api/worlds/actions/', body)
    expect(bulk.body.results).toEqual([{ worldId: many.id, status: 200 }])
    for (const world of [started, stopped, many]) expect((await world.read()).status).not.toHaveProperty('idle')
    for (const world of [stopped, many]) {
      await world.resourceShows('the stop', ({ state }) => state === 'Stopped')
      const events = await tenant.rest.call<{ reason: string }[]>('GET', `${world.path}events/`)
      expect(events.body.map(({ reason }) => reason)).toContain('Stopped')
    }
    expect((await tenant.rest.call('DELETE', deleted.path)).status).toBe(200)
    // The operator would report that no pod is left.
    await eventually('the removal of the resource', async () => {
      const live = await cluster.world(namespace, deleted.id).find()
      if (live?.metadata.deletionTimestamp !== undefined) {
        await cluster.worlds.patch(live.metadata, { metadata: { finalizers: null } }).catch(() => undefined)
      }
      return live === undefined
    })
    await eventually('the restore', async () => (await deleted.post('restore')).status === 204)
    expect(await deleted.read()).toMatchObject({
      runtime: { idleStopMinutes: 15, wakeOnAccess: 'Access' },
      status: { phase: 'Inactive' },
    })
    expect((await deleted.read()).status).not.toHaveProperty('idle')
  })
})
