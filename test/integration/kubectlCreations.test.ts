import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { idOfUid } from '#shared/ids.ts'
import { groupVersion } from '#shared/resources/group.ts'
import { aCluster } from '#test/support/cluster.ts'
import { createFaultProxy } from '#test/support/faultProxy.ts'
import { holdRow } from '#test/support/heldRow.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import { createRest, type WorldBody } from '#test/support/rest.ts'
import { getServers } from '#test/support/servers.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>
let tenant: Tenant
let namespace: string
let databaseUrl: string

beforeAll(async () => {
  databaseUrl = await aDatabase()
  ;[api, operator] = await Promise.all([startApi({ databaseUrl }), startOperator()])
  tenant = await aTenant(api.url)
  namespace = `orrery-${tenant.scope.organizationId}`
  // The first world of a tenant makes its namespace.
  await cluster.world(namespace, await tenant.world()).exists()
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop()])
  await cluster.close()
})

const aWorldByHand = (name: string, spec: object, labels: Record<string, string> = {}) =>
  cluster.worlds.create({ apiVersion: groupVersion, kind: 'World', metadata: { namespace, name, labels }, spec })
const aWorldInProject = (name: string, spec: object) =>
  aWorldByHand(name, spec, { 'orrery.dev/project': tenant.scope.projectId })
const inRest = (id: string) =>
  eventually(`REST shows ${id}`, async () => {
    const { status, body } = await tenant.rest.call<WorldBody & { networking: { scaling: { profile: string } } }>(
      'GET',
      `/api/worlds/${id}/`,
    )
    return status === 200 && body
  })
const synced = async (name: string) =>
  (await cluster.worlds.get({ namespace, name })).status?.conditions?.find(({ type }) => type === 'Synced')
const isRefused = (name: string, reason: string) =>
  eventually(`${name} is refused: ${reason}`, async () => {
    const condition = await synced(name)
    return condition?.status === 'False' && condition.reason === reason && condition
  })
const limit = async (limits: object): Promise<void> => {
  const { status } = await tenant.rest.call(
    'PATCH',
    `/api/organizations/${tenant.scope.organizationId}/limits/`,
    limits,
  )
  expect(status).toBe(200)
}

test('REST refuses a Service for a World whose name no Service can have, as the definition does', async () => {
  const spec = { displayName: 'Dotted' }
  const networking = { strategy: 'LoadBalancer', scaling: { profile: 'Capacity10', configuration: null } }
  await expect(aWorldInProject('my.world', { ...spec, networking: { strategy: 'ClusterIP' } })).rejects.toThrow(
    'needs a Service of the name of the World',
  )
  const id = idOfUid('world', (await aWorldInProject('my.world', spec)).metadata.uid ?? '')
  await inRest(id)
  const patch = (body: object) => tenant.rest.call('PATCH', `/api/worlds/${id}/`, body)
  expect(await patch({ networking })).toMatchObject({
    status: 400,
    body: { errors: [{ path: '/networking/strategy', message: expect.stringContaining('my.world') }] },
  })
  expect((await patch({ networking: { ...networking, strategy: 'Default' } })).status).toBe(200)
})

test('a World made by kubectl gets a row, a launch context and the id that follows from its uid', async () => {
  const made = await aWorldInProject('lobby', {
    displayName: 'Lobby by hand',
    state: 'Running',
    scaling: { profile: 'Capacity60' },
    runtime: { mapName: 'hall', args: ['--own'] },
  })
  const id = idOfUid('world', made.metadata.uid ?? '')
  const pod = await cluster.pod(namespace, 'lobby').exists()
  await cluster.pod(namespace, 'lobby').becomesReady()
  const world = await inRest(id)
  expect(world).toMatchObject({
    documentId: id,
    name: 'Lobby by hand',
    networking: { scaling: { profile: 'Capacity60' } },
    launchContext: { name: 'Lobby by hand' },
  })
  expect(pod.metadata.labels).toMatchObject({ 'orrery.dev/world': 'lobby', 'orrery.dev/world-id': id })
  const container = pod.spec?.containers?.[0] as { env?: { name: string; value: string }[] } | undefined
  expect(container?.env).toContainEqual({ name: 'ORRERY_WORLD_ID', value: id })
  const live = await eventually('the marks', async () => {
    const now = await cluster.worlds.get({ namespace, name: 'lobby' })
    return now.status?.worldId === id && now.spec.runId !== undefined && now
  })
  expect(live.metadata.labels).toMatchObject({
    'orrery.dev/world-id': id,
    'orrery.dev/project': tenant.scope.projectId,
    'orrery.dev/organization': tenant.scope.organizationId,
  })
  expect(live.spec.runId).toBe(pod.metadata.labels?.['orrery.dev/run'])
  expect((await cluster.pod(namespace, 'lobby').exists()).metadata.uid).toBe(pod.metadata.uid)
  await eventually('Active', async () => (await inRest(id)).status.phase === 'Active')

  await tenant.rest.call('PATCH', `/api/worlds/${id}/`, { name: 'Foyer' })
  await eventually('the REST write', async () => {
    return (await cluster.worlds.get({ namespace, name: 'lobby' })).spec.displayName === 'Foyer'
  })
  // It does not accept a condition of an earlier generation.
  cluster.kubectl('-n', namespace, 'wait', 'world/lobby', '--for=condition=Synced', '--timeout=30s')
  expect((await tenant.rest.call('DELETE', `/api/worlds/${id}/`)).status).toBe(200)
  await cluster.world(namespace, 'lobby').isGone()
})

test('a World whose name is an id that no other resource has gets a row with that id', async () => {
  const id = idOfUid('world', randomUUID())
  await aWorldInProject(id, { displayName: 'Named by its id', state: 'Running' })
  expect(await inRest(id)).toMatchObject({ documentId: id, name: 'Named by its id' })
  const { metadata } = await cluster.pod(namespace, id).exists()
  expect(metadata.labels?.['orrery.dev/world-id']).toBe(id)
})

test("a World with the name of another tenant's world gets no row and no pod", async () => {
  const neighbour = await aTenant(api.url)
  const id = await neighbour.world()
  await cluster.world(`orrery-${neighbour.scope.organizationId}`, id).exists()
  await aWorldInProject(id, { state: 'Running' })
  const live = await eventually('the reason', async () => {
    const world = await cluster.worlds.get({ namespace, name: id })
    return world.status?.conditions?.some(({ reason }) => reason === 'WaitingForApi') && world
  })
  expect(live.status?.worldId).toBeUndefined()
  expect(await cluster.pod(namespace, id).find()).toBeUndefined()
  expect((await tenant.rest.call('GET', `/api/worlds/${id}/`)).status).toBe(404)
})

test("a World with the label of another tenant's world has the id that follows from its uid", async () => {
  const foreign = idOfUid('world', randomUUID())
  const made = await aWorldByHand(
    'labelled',
    { state: 'Running' },
    {
      'orrery.dev/project': tenant.scope.projectId,
      'orrery.dev/world-id': foreign,
    },
  )
  const { metadata } = await cluster.pod(namespace, 'labelled').exists()
  expect(metadata.labels?.['orrery.dev/world-id']).toBe(idOfUid('world', made.metadata.uid ?? ''))
})

test('a World that kubectl creates with a revision gets a row with its settings, which continues above it', async () => {
  const made = await aWorldInProject('numbered', { displayName: 'Numbered', description: 'Kept', revision: 41 })
  const id = idOfUid('world', made.metadata.uid ?? '')
  expect(await inRest(id)).toMatchObject({ description: 'Kept' })
  expect((await tenant.rest.call('PATCH', `/api/worlds/${id}/`, { name: 'Renamed' })).status).toBe(200)
  await eventually('the resource has the name and a higher revision', async () => {
    const { spec } = await cluster.worlds.get({ namespace, name: 'numbered' })
    return spec.displayName === 'Renamed' && (spec.revision ?? 0) > 41 && spec.description === 'Kept'
  })
})

test('a deletion by kubectl deletes its row, and the next World of that name is another world', async () => {
  const first = await aWorldInProject('again', { state: 'Stopped' })
  const id = idOfUid('world', first.metadata.uid ?? '')
  expect((await inRest(id)).name).toBe('again')
  cluster.kubectl('-n', namespace, 'delete', 'world', 'again')
  await eventually('REST forgets it', async () => (await tenant.rest.call('GET', `/api/worlds/${id}/`)).status === 404)
  const second = await aWorldInProject('again', { state: 'Stopped' })
  await inRest(idOfUid('world', second.metadata.uid ?? ''))
  expect((await cluster.worlds.get({ namespace, name: 'again' })).metadata.uid).toBe(second.metadata.uid)
})

test('a restored world whose name another World has by now is created under its id, with its bots', async () => {
  const create = async (displayName: string): Promise<string> => {
    const { metadata } = await aWorldInProject('gallery', { displayName })
    const id = idOfUid('world', metadata.uid ?? '')
    await inRest(id)
    return id
  }
  const first = await create('First')
  const path = `/api/worlds/${first}/bots/`
  expect((await tenant.rest.call('POST', path, { count: 1 })).status).toBe(200)
  const [bots] = (await tenant.rest.call<{ documentId: string }[]>('GET', path)).body
  const live = () => cluster.botDeployment(namespace, bots?.documentId ?? '')
  await live().exists()
  expect((await tenant.rest.call('DELETE', `/api/worlds/${first}/`)).status).toBe(200)
  await cluster.world(namespace, 'gallery').isGone()
  await live().isGone()

  const second = await create('Second')
  const restore = async () => (await tenant.rest.call('POST', `/api/worlds/${first}/restore/`)).status === 204
  await eventually('it is restored', restore)
  expect((await cluster.world(namespace, first).exists()).spec.displayName).toBe('First')
  expect((await live().exists()).spec.worldName).toBe(first)
  const { spec, metadata } = await cluster.worlds.get({ namespace, name: 'gallery' })
  expect([spec.displayName, metadata.labels?.['orrery.dev/world-id']]).toEqual(['Second', second])
})

test('a World that kubectl deletes before its first push stays deleted, and its name can be used again', async () => {
  const proxy = await createFaultProxy({ kubeconfig: getServers().apiKubeconfig })
  const own = await startApi({ databaseUrl: await aDatabase(), kubeconfig: proxy.kubeconfig })
  const other = await aTenant(own.url)
  const place = `orrery-${other.scope.organizationId}`
  await cluster.world(place, await other.world()).exists()
  const create = async (): Promise<string> => {
    const labels = { 'orrery.dev/project': other.scope.projectId }
    const { metadata } = await cluster.worlds.create({
      apiVersion: groupVersion,
      kind: 'World',
      metadata: { namespace: place, name: 'brief', labels },
      spec: { state: 'Stopped' },
    })
    return idOfUid('world', metadata.uid ?? '')
  }
  const hasStatus = (id: string, status: number) =>
    eventually(
      `${status} for ${id}`,
      async () => (await other.rest.call('GET', `/api/worlds/${id}/`)).status === status,
    )
  const release = proxy.holdRequests('worlds')
  const first = await create()
  await hasStatus(first, 200)
  cluster.kubectl('-n', place, 'delete', 'world', 'brief')
  await hasStatus(first, 404)
  const next = await create()
  await hasStatus(next, 200)
  cluster.kubectl('-n', place, 'delete', 'world', 'brief')
  const last = await create()
  await hasStatus(next, 404)
  await hasStatus(last, 200)
  release()
  const live = await eventually('the push of the last one', async () => {
    const world = await cluster.worlds.get({ namespace: place, name: 'brief' })
    return world.status?.worldId === last && world.spec.revision !== undefined && world
  })
  expect(idOfUid('world', live.metadata.uid ?? '')).toBe(last)
  const { body } = await other.rest.call<{ name: string }[]>('GET', '/api/worlds/?name=brief')
  expect(body).toHaveLength(1)
  await own.stop()
  await proxy.remove()
})

test('a World without a project label goes to the project "default"', async () => {
  await aWorldByHand('homeless', {})
  await aWorldByHand('homeless-too', {})
  const projects = await eventually('the project', async () => {
    const listed = await tenant.rest.call<{ documentId: string; name: string }[]>('GET', '/api/organizations/projects/')
    return listed.body.some(({ name }) => name === 'default') && listed.body
  })
  const [project, ...others] = projects.filter(({ name }) => name === 'default')
  expect(others).toEqual([])
  const rest = createRest(api.url, { ...tenant.scope, projectId: project?.documentId ?? '' })
  await eventually('both worlds', async () => {
    const worlds = await rest.call<WorldBody[]>('GET', '/api/worlds/')
    return (
      worlds.body
        .map(({ name }) => name)
        .sort()
        .join() === 'homeless,homeless-too'
    )
  })
})

test('a World that cannot be adopted stays unchanged with a reason, and is adopted once it can be', async () => {
  const stranger = await aTenant(api.url)
  await aWorldByHand('lost', { displayName: 'Lost' }, { 'orrery.dev/project': stranger.scope.projectId })
  expect((await isRefused('lost', 'ProjectNotFound')).message).toContain(stranger.scope.projectId)
  await aWorldInProject('large', { scaling: { profile: 'Capacity2500' } })
  expect((await isRefused('large', 'NotAdopted')).message).toContain('largeWorlds')
  const before = await cluster.worlds.get({ namespace, name: 'large' })
  expect([before.spec.scaling.profile, before.metadata.finalizers]).toEqual(['Capacity2500', undefined])
  await limit({ maxWorlds: 0 })
  const full = await aWorldInProject('full', {})
  await isRefused('full', 'LimitReached')
  await limit({ maxWorlds: 100 })
  cluster.kubectl(
    '-n',
    namespace,
    'label',
    'world',
    'lost',
    `orrery.dev/project=${tenant.scope.projectId}`,
    '--overwrite',
  )
  await inRest(idOfUid('world', full.metadata.uid ?? ''))
  const lost = await cluster.worlds.get({ namespace, name: 'lost' })
  await inRest(idOfUid('world', lost.metadata.uid ?? ''))
  await eventually('Synced', async () => (await synced('lost'))?.status === 'True')
})

test('bots made by kubectl get a row once their world has one', async () => {
  const apply = (kind: 'World' | 'BotDeployment', name: string, spec: object) =>
    cluster.transport.request<{ metadata: { uid: string } }>({
      method: 'POST',
      path: `/apis/${groupVersion}/namespaces/${namespace}/${kind === 'World' ? 'worlds' : 'botdeployments'}`,
      body: { apiVersion: groupVersion, kind, metadata: { namespace, name }, spec },
    })
  const bots = await apply('BotDeployment', 'guests', { worldName: 'stage', count: 3, args: ['--dance'] })
  const world = await aWorldInProject('stage', {})
  const worldId = idOfUid('world', world.metadata.uid ?? '')
  const id = idOfUid('bot', bots.metadata.uid)
  const read = () =>
    tenant.rest.call<{ configuration: { count: number; args: string[] } }>('GET', `/api/worlds/${worldId}/bots/${id}/`)
  const { body } = await eventually('REST shows the bots', async () => {
    const answer = await read()
    return answer.status === 200 && answer
  })
  expect(body.configuration).toMatchObject({ count: 3, args: ['--dance'] })
  cluster.kubectl('-n', namespace, 'scale', 'botdeployment', 'guests', '--replicas=4')
  await eventually('the count', async () => (await read()).body.configuration.count === 4)
  cluster.kubectl('-n', namespace, 'patch', 'bots', 'guests', '--type=merge', '-p', '{"spec":{"count":900}}')
  await eventually('it is put back', async () => {
    const { spec } = (await cluster.botDeployment(namespace, 'guests').exists()) ?? {}
    return spec?.count === 4
  })
  expect((await tenant.rest.call('DELETE', `/api/worlds/${worldId}/`)).status).toBe(200)
  await cluster.botDeployment(namespace, 'guests').isGone()
  await cluster.world(namespace, 'stage').isGone()
})

test('a new World locks its project before its organization, as REST does', async () => {
  const { rest, scope } = tenant
  await aWorldByHand('makes-default', {})
  const byDefault = await eventually('the project default', async () => {
    const { body } = await rest.call<{ documentId: string; name: string }[]>('GET', '/api/organizations/projects/')
    return body.find(({ name }) => name === 'default')?.documentId
  })
  for (const [projectId, create] of [
    [scope.projectId, aWorldInProject],
    [byDefault, aWorldByHand],
  ] as const) {
    const row = await holdRow(databaseUrl, 'projects', projectId)
    const { metadata } = await create(`waits-for-${projectId}`, {})
    await row.isWaitedFor(1)
    await row.alsoHold('organizations', scope.organizationId)
    await row.release()
    await eventually('the row', async () => {
      const id = idOfUid('world', metadata.uid ?? '')
      return (await createRest(api.url, { ...scope, projectId }).call('GET', `/api/worlds/${id}/`)).status === 200
    })
  }
})
