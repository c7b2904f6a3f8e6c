import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defaultPorts } from '#shared/domain/ports.ts'
import { scalingProfileNames, scalingProfiles } from '#shared/scalingProfiles.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { createRest } from '#test/support/rest.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'

let api: ApiProcess
let tenant: Tenant
beforeAll(async () => {
  api = await startApi({ databaseUrl: await aDatabase() })
  tenant = await aTenant(api.url)
})
afterAll(() => api?.stop())

type Problem = { code: string; detail?: string; errors?: { path: string }[] }
type World = Record<string, unknown> & { launchContext: Record<string, unknown>; runtime: Record<string, unknown> }
const lobby = { name: 'Lobby', transient: false }
const read = async (id: string) => (await tenant.rest.call<World>('GET', `/api/worlds/${id}/`)).body
const create = (body: object) => tenant.rest.call<Problem>('POST', '/api/worlds/', { ...lobby, ...body })
const patch = (id: string, body: object) => tenant.rest.call<World & Problem>('PATCH', `/api/worlds/${id}/`, body)
const profiled = (profile: string) => ({ networking: { scaling: { profile } } })

const noFlags = {
  ignoreExpiry: false,
  ignoreSlotRenewalErrors: false,
  ignoreParentMissing: false,
  useImmediateMode: false,
}
const noDownload = { enabled: false, enforceAntiCheat: false, allowMac: false, allowIos: false }

test('a create with the two required fields sets every default', async () => {
  const id = await tenant.world({ transient: true })
  const { launchContextId } = (await read(id)).launchContext
  expect(await read(id)).toEqual({
    documentId: id,
    ...tenant.scope,
    name: 'Lobby',
    description: '',
    transient: true,
    metadata: { annotations: {}, labels: {} },
    compute: { group: 'production', region: 'Europe' },
    networking: {
      strategy: 'Default',
      ports: defaultPorts,
      scaling: { profile: 'Capacity30', configuration: null },
    },
    runtime: { mapName: '', capacity: 30, admissionPolicy: 'Open' },
    manifest: { serverPermissions: [], clientPermissions: [] },
    admission: { policy: 'Open', capacity: 30 },
    sessions: { controlPolicy: 'Unlimited', streamingTicketPredicate: '', flags: noFlags, forceTravelWorldId: '' },
    status: { phase: 'Inactive', message: '', conditions: [] },
    queueState: { queued: 0, active: 0 },
    createdAt: expect.any(String),
    updatedAt: expect.any(String),
    launchContext: {
      launchContextId,
      worldId: id,
      ...tenant.scope,
      name: 'Lobby',
      description: '',
      splashScreenUrl: '',
      isActive: true,
      isPublic: false,
      isWorldTravelOnly: false,
      useWorldSessions: true,
      permissionVerb: '*',
      publicDownload: noDownload,
      bypassBrowserRestrictions: false,
      okPageUrl: '',
      errorPageUrl: '',
      enableQueue: false,
      capacity: 30,
    },
  })
})

test('a create accepts every field of the specification and returns it', async () => {
  const body = {
    name: 'Great Hall',
    transient: true,
    description: 'Where all meet',
    pictureUrl: 'https://example.com/hall.png',
    metadata: { annotations: { a: 'b' }, labels: { c: 'd' } },
    manifest: { serverPermissions: ['s'], clientPermissions: ['c'] },
    admission: { policy: 'Queued', capacity: 20 },
    sessions: {
      controlPolicy: 'OnePerUser',
      streamingTicketPredicate: 'p',
      flags: { ...noFlags, ignoreExpiry: true },
      forceTravelWorldId: 'w',
    },
    compute: { group: 'staging', region: 'AsiaPacific', version: '7' },
    networking: { strategy: 'NodePort', scaling: { profile: 'Capacity60', configuration: null } },
    runtime: { build: { channelId: 'c', tag: 't' }, mapName: 'hall', durationMinutes: 0.5 },
  }
  const providerA = { cmsId: 'i', authorizationId: 'z', launchMode: 'embedded' }
  const providerB = { gameLabel: 'l', gameChannel: 'c' }
  const streamManager = {
    streamContextId: 's',
    allowForceProvider: true,
    showProviderOptions: true,
    useBuildVersion: true,
  }
  const pages = { bypassBrowserRestrictions: true, okPageUrl: 'https://ok', errorPageUrl: 'https://no' }
  const id = await tenant.world({ ...body, streaming: { providerA, providerB, streamManager, ...pages } })
  const { name, description, pictureUrl } = body
  expect(await read(id)).toMatchObject({
    ...body,
    runtime: { ...body.runtime, capacity: 20, admissionPolicy: 'Queued' },
    launchContext: {
      name,
      description,
      pictureUrl,
      ...pages,
      streamManager,
      providerAStreaming: providerA,
      providerBStreaming: providerB,
      enableQueue: true,
      capacity: 20,
      buildInfo: { buildChannelId: 'c', buildTag: 't', buildType: 'client' },
    },
  })
})

const long = (size: number): string => '🌍'.repeat(size)
const maps = (entries: number) => ({
  metadata: { labels: Object.fromEntries(Array.from({ length: entries }, (_, at) => [`k${at}`, 'v'])) },
})
const fill = (entries: number) =>
  Object.fromEntries(Array.from({ length: entries }, (_, at) => [`k${at}`, 'v'.repeat(4094)]))
describe('accepts a value at its limit and rejects one beyond it:', () => {
  test.each([
    ['name, two characters', { name: 'ab' }, undefined],
    ['name, empty', { name: '' }, '/name'],
    ['name, one character', { name: 'a' }, '/name'],
    ['name, one character outside the basic plane', { name: '🌍' }, '/name'],
    ['name, 64 code points', { name: long(64) }, undefined],
    ['name, 65 code points', { name: long(65) }, '/name'],
    ['name, space alone', { name: '   ' }, '/name'],
    ['name, visible only at its start', { name: 'a   ' }, '/name'],
    ['name, space first', { name: ' a' }, undefined],
    ['name, not trimmed', { name: ' ab ' }, undefined],
    ['name, line end', { name: 'a\nb' }, '/name'],
    ['name, null', { name: null }, '/name'],
    ['transient, a text', { transient: 'no' }, '/transient'],
    ['description, empty', { description: '' }, undefined],
    ['description, 256', { description: long(256) }, undefined],
    ['description, 257', { description: long(257) }, '/description'],
    ['pictureUrl, empty', { pictureUrl: '' }, undefined],
    ['pictureUrl, a URI', { pictureUrl: 'https://example.com/a.png?b=c' }, undefined],
    ['pictureUrl, no URI', { pictureUrl: 'a picture' }, '/pictureUrl'],
    ['pictureUrl, a script', { pictureUrl: 'javascript:alert(1)' }, '/pictureUrl'],
    ['durationMinutes, 0', { runtime: { durationMinutes: 0 } }, '/runtime/durationMinutes'],
    ['durationMinutes, a fraction', { runtime: { durationMinutes: 0.01 } }, undefined],
    ['durationMinutes, negative', { runtime: { durationMinutes: -1 } }, '/runtime/durationMinutes'],
    ['capacity, 0', { runtime: { capacity: 0 } }, '/runtime/capacity'],
    ['capacity, 1', { runtime: { capacity: 1 } }, undefined],
    ['capacity, a fraction', { admission: { capacity: 1.5 } }, '/admission/capacity'],
    ['labels, 256', maps(256), undefined],
    ['labels, 257', maps(257), '/metadata/labels'],
    ['metadata, 32 KiB', { metadata: { annotations: fill(8), labels: {} } }, undefined],
    ['metadata, above 32 KiB', { metadata: { annotations: fill(8), labels: { a: '' } } }, '/metadata'],
    ['labels, a number', { metadata: { labels: { a: 1 } } }, '/metadata/labels/a'],
    ['configuration, null', { networking: { scaling: { configuration: null } } }, undefined],
    [
      'configuration, an object',
      { networking: { scaling: { configuration: {} } } },
      '/networking/scaling/configuration',
    ],
    ['group, unknown', { compute: { group: 'lab' } }, '/compute/group'],
    ['region, unknown', { compute: { region: 'Mars' } }, '/compute/region'],
    ['strategy, unknown', { networking: { strategy: 'Pigeon' } }, '/networking/strategy'],
    ['policy, unknown', { admission: { policy: 'Maybe' } }, '/admission/policy'],
    ['controlPolicy, unknown', { sessions: { controlPolicy: 'Two' } }, '/sessions/controlPolicy'],
    ['launchMode, unknown', { streaming: { providerA: { launchMode: 'popup' } } }, '/streaming/providerA/launchMode'],
    ['an unknown field, nested', { runtime: { speed: 1 } }, '/runtime/speed'],
    ['an unknown field that answers have', { documentId: 'x' }, '/documentId'],
  ])('%s', async (_, body, fault) => {
    const made = await create(body)
    if (fault === undefined) expect(made).toMatchObject({ status: 200 })
    else expect([made.status, made.body.errors?.map(({ path }) => path)]).toEqual([400, [fault]])
  })
})

describe('the size of a world', () => {
  test.each(scalingProfileNames)('%s accepts its own capacity and not one more', async (profile) => {
    const { capacity } = scalingProfiles[profile]
    const world = (most: number) => ({ ...profiled(profile), admission: { capacity: most } })
    expect((await create(world(capacity))).status).toBe(200)
    const beyond = await create(world(capacity + 1))
    expect([beyond.status, beyond.body.code]).toEqual(
      capacity === 10_000 ? [400, 'invalid_request'] : [403, 'size_not_allowed'],
    )
  })

  test('above Capacity1000 needs the claim largeWorlds, in create and PATCH', async () => {
    const everything = [`${tenant.paths.organization}/**:*`]
    const [small, large] = [
      await tenant.withKey(everything),
      await tenant.withKey(everything, { claims: { largeWorlds: true } }),
    ]
    const body = (profile: string) => ({ ...lobby, ...profiled(profile) })
    expect((await small.call('POST', '/api/worlds/', body('Capacity1000'))).status).toBe(200)
    expect(await small.call('POST', '/api/worlds/', body('Capacity1500'))).toMatchObject({
      status: 403,
      body: { code: 'size_not_allowed' },
    })
    expect((await large.call('POST', '/api/worlds/', body('Capacity1500'))).status).toBe(200)
    const id = await tenant.world()
    const change = { networking: { strategy: 'Default', scaling: { profile: 'Capacity1500' } } }
    expect((await small.call('PATCH', `/api/worlds/${id}/`, change)).status).toBe(403)
    expect((await large.call('PATCH', `/api/worlds/${id}/`, change)).status).toBe(200)
  })

  test('is limited by maxWorldCapacity, and the number of worlds by maxWorlds, also for concurrent creates', async () => {
    const own = await aTenant(api.url)
    const limits = `/api/organizations/${own.scope.organizationId}/limits/`
    await own.rest.call('PATCH', limits, { maxWorldCapacity: 60, maxWorlds: 3 })
    const make = (profile: string) => own.rest.call<Problem>('POST', '/api/worlds/', { ...lobby, ...profiled(profile) })
    expect((await make('Capacity100')).status).toBe(403)
    const made = await Promise.all(Array.from({ length: 8 }, () => make('Capacity60')))
    expect(made.map(({ status }) => status).sort()).toEqual([200, 200, 200, 409, 409, 409, 409, 409])
    expect(made.find(({ status }) => status === 409)?.body.code).toBe('limit_reached')
  })

  test('returns 409 for a start when maxRunningCapacity is reached, until a stop', async () => {
    const own = await aTenant(api.url)
    await own.rest.call('PATCH', `/api/organizations/${own.scope.organizationId}/limits/`, { maxRunningCapacity: 60 })
    const ids = [await own.world(), await own.world(), await own.world()]
    const post = (at: number, verb: string) => own.rest.call<Problem>('POST', `/api/worlds/${ids[at]}/${verb}/`)
    expect([(await post(0, 'start')).status, (await post(1, 'start')).status]).toEqual([200, 200])
    expect(await post(2, 'start')).toMatchObject({ status: 409, body: { code: 'limit_reached' } })
    expect((await post(0, 'start')).status).toBe(200)
    await post(0, 'stop')
    expect((await post(2, 'start')).status).toBe(200)
  })

  test.each([
    ['NodePort', 'maxNodePorts', { maxNodePorts: 2 }],
    ['LoadBalancer', 'maxNodePorts', { maxNodePorts: 2 }],
    ['LoadBalancer', 'maxLoadBalancers', { maxLoadBalancers: 1 }],
  ])('returns 409 for a start with a %s when %s is reached, until a stop', async (strategy, name, limits) => {
    const own = await aTenant(api.url)
    await own.rest.call('PATCH', `/api/organizations/${own.scope.organizationId}/limits/`, limits)
    const networking = { strategy, scaling: { profile: 'Capacity10' } }
    const [first, second] = [await own.world({ networking }), await own.world({ networking })]
    const inside = await own.world()
    const post = (id: string, verb: string) => own.rest.call<Problem>('POST', `/api/worlds/${id}/${verb}/`)
    expect((await post(first, 'start')).status).toBe(200)
    const refused = await post(second, 'start')
    expect(refused).toMatchObject({ status: 409, body: { code: 'limit_reached' } })
    expect(refused.body.detail).toContain(name)
    expect([(await post(inside, 'start')).status, (await post(first, 'start')).status]).toEqual([200, 200])
    // An edit of a running world acts at its next start.
    const edited = { networking: { ...networking, strategy: 'ClusterIP' } }
    expect((await own.rest.call('PATCH', `/api/worlds/${first}/`, edited)).status).toBe(200)
    expect((await post(second, 'start')).status).toBe(409)
    await post(first, 'stop')
    expect((await post(second, 'start')).status).toBe(200)
  })

  test('counts running worlds by the capacity of their runs, not by later edits', async () => {
    const own = await aTenant(api.url)
    await own.rest.call('PATCH', `/api/organizations/${own.scope.organizationId}/limits/`, { maxRunningCapacity: 60 })
    const [first, second] = [await own.world(profiled('Capacity60')), await own.world(profiled('Capacity10'))]
    const start = async (id: string) => (await own.rest.call('POST', `/api/worlds/${id}/start/`)).status
    const rescale = (id: string, profile: string) =>
      own.rest.call('PATCH', `/api/worlds/${id}/`, { networking: { strategy: 'Default', scaling: { profile } } })
    expect(await start(first)).toBe(200)
    expect((await rescale(first, 'Capacity10')).status).toBe(200)
    expect(await start(second)).toBe(409)
    expect(await start(first)).toBe(200)
    expect((await rescale(first, 'Capacity60')).status).toBe(200)
    expect(await start(second)).toBe(200)
  })
})

const whole = {
  metadata: { annotations: { a: 'b' }, labels: {} },
  manifest: { serverPermissions: ['s'], clientPermissions: [] },
  publicDownload: { enabled: true, enforceAntiCheat: true, allowMac: true, allowIos: true },
  admission: { policy: 'Queued', capacity: 5 },
  compute: { group: 'staging', region: 'AsiaPacific', version: '7' },
  networking: { strategy: 'NodePort', scaling: { profile: 'Capacity60', configuration: null } },
  runtime: { build: { channelId: 'c', tag: 't' }, mapName: 'hall', durationMinutes: 5 },
  streaming: {
    providerA: { cmsId: 'i', authorizationId: 'z', launchMode: 'embedded' },
    bypassBrowserRestrictions: true,
    okPageUrl: 'https://ok',
    errorPageUrl: 'https://no',
  },
}

describe('a PATCH of a world', () => {
  test.each([
    ['metadata', { labels: {} }, '/metadata/annotations'],
    ['metadata', { annotations: {} }, '/metadata/labels'],
    ['manifest', { clientPermissions: [] }, '/manifest/serverPermissions'],
    ['manifest', { serverPermissions: [] }, '/manifest/clientPermissions'],
    ['admission', { capacity: 5 }, '/admission/policy'],
    ['compute', { region: 'Europe' }, '/compute/group'],
    ['compute', { group: 'staging' }, '/compute/region'],
    ['networking', { scaling: whole.networking.scaling }, '/networking/strategy'],
    ['networking', { strategy: 'Default' }, '/networking/scaling'],
    ['networking', { strategy: 'Default', scaling: {} }, '/networking/scaling/profile'],
    ['publicDownload', { ...whole.publicDownload, enabled: undefined }, '/publicDownload/enabled'],
    ['publicDownload', { ...whole.publicDownload, enforceAntiCheat: undefined }, '/publicDownload/enforceAntiCheat'],
    ['publicDownload', { ...whole.publicDownload, allowMac: undefined }, '/publicDownload/allowMac'],
    ['publicDownload', { ...whole.publicDownload, allowIos: undefined }, '/publicDownload/allowIos'],
    ['runtime', { build: { channelId: 'c' } }, '/runtime/build'],
    ['runtime', { build: {} }, '/runtime/build'],
    ['runtime', { build: { channelId: 'c', tag: 't', content: { id: 'x' } } }, '/runtime/build'],
    ['sessions', {}, '/sessions'],
    ['transient', true, '/transient'],
    ['launchContext', {}, '/launchContext'],
  ])('refuses %s as %j', async (field, value, fault) => {
    const id = await tenant.world()
    const answer = await patch(id, { [field]: value })
    expect(answer.status).toBe(400)
    const paths = answer.body.errors?.map(({ path }) => path) ?? []
    expect(paths.length).toBeGreaterThan(0)
    for (const path of paths) expect(path.startsWith(fault)).toBe(true)
  })

  test.each([
    ...['name', 'description', 'pictureUrl', 'isPublic', ...Object.keys(whole)].map((field) => ({ [field]: null })),
    { admission: { policy: 'Open', capacity: null } },
    { compute: { group: 'staging', region: 'Europe', version: null } },
    { runtime: { mapName: null } },
    { runtime: { build: null } },
    { runtime: { durationMinutes: null } },
    { streaming: { providerA: null } },
  ])('refuses null: %j', async (body) => {
    expect((await patch(await tenant.world(), body)).status).toBe(400)
  })

  test('keeps absent fields and replaces given ones whole', async () => {
    const id = await tenant.world({ description: 'Old' })
    const full = await patch(id, { ...whole, isPublic: true })
    expect(full.status).toBe(200)
    for (const [field, value] of Object.entries(whole)) {
      const before = await read(id)
      const { status, body } = await patch(id, { [field]: value })
      expect([field, status]).toEqual([field, 200])
      expect(body).toEqual({ ...before, updatedAt: expect.any(String) })
    }
    expect(await read(id)).toMatchObject({
      description: 'Old',
      admission: whole.admission,
      networking: whole.networking,
      compute: whole.compute,
      launchContext: {
        isPublic: true,
        publicDownload: whole.publicDownload,
        capacity: 5,
        enableQueue: true,
        providerAStreaming: whole.streaming.providerA,
      },
    })
  })

  test('resets every absent nested field to its default', async () => {
    const id = await tenant.world()
    await patch(id, whole)
    const { body } = await patch(id, {
      admission: { policy: 'Open' },
      compute: { group: 'staging', region: 'Europe' },
      networking: { strategy: 'Default', scaling: { profile: 'Capacity30' } },
      runtime: {},
      streaming: { providerA: {} },
    })
    expect(body.compute).toEqual({ group: 'staging', region: 'Europe' })
    const scaling = { profile: 'Capacity30', configuration: null }
    expect(body.networking).toEqual({ strategy: 'Default', ports: defaultPorts, scaling })
    expect(body.runtime).toEqual({ mapName: '', capacity: 30, admissionPolicy: 'Open' })
    expect(body.launchContext).toMatchObject({
      providerAStreaming: { cmsId: '', authorizationId: '', launchMode: 'same-tab' },
      bypassBrowserRestrictions: false,
      okPageUrl: '',
      errorPageUrl: '',
      enableQueue: false,
      capacity: 30,
    })
    expect(body.launchContext).not.toHaveProperty('buildInfo')
  })

  test('copies name, description and picture to the launch context, and an empty string clears the picture', async () => {
    const id = await tenant.world({ pictureUrl: 'https://example.com/a.png' })
    const changed = await patch(id, { name: 'Foyer', description: 'New', pictureUrl: 'https://example.com/b.png' })
    const shown = { name: 'Foyer', description: 'New', pictureUrl: 'https://example.com/b.png' }
    expect(changed.body).toMatchObject({ ...shown, launchContext: shown })
    const cleared = await patch(id, { pictureUrl: '' })
    expect(cleared.body).not.toHaveProperty('pictureUrl')
    expect(cleared.body.launchContext).not.toHaveProperty('pictureUrl')
  })

  test('with If-Match applies to the named revision only', async () => {
    const id = await tenant.world()
    const path = `/api/worlds/${id}/`
    const tag = (await tenant.rest.call('GET', path)).headers.get('etag') ?? ''
    const rename = (name: string, ifMatch: string) => tenant.rest.call('PATCH', path, { name }, { 'if-match': ifMatch })
    expect((await rename('One', tag)).status).toBe(200)
    expect((await rename('Two', tag)).status).toBe(412)
    expect((await rename('Two', `${tag}, "2.0"`)).status).toBe(200)
    expect((await rename('Three', '*')).status).toBe(200)
    expect((await rename('Four', 'W/"4.0"')).status).toBe(412)
    expect((await read(id)).name).toBe('Three')
  })
})

test('the project header filters the list of worlds', async () => {
  const own = await aTenant(api.url)
  const { rest, scope } = own
  const made = await rest.call<{ projectId: string }>('POST', '/api/organizations/projects/', { name: 'Other' })
  const other = createRest(api.url, { organizationId: scope.organizationId, projectId: made.body.projectId })
  const first = await own.world()
  const second = (await other.call<{ worldId: string }>('POST', '/api/worlds/', lobby)).body.worldId
  const all = createRest(api.url, { organizationId: scope.organizationId })
  const ids = async (client: ReturnType<typeof createRest>) =>
    (await client.call<{ documentId: string }[]>('GET', '/api/worlds/')).body.map(({ documentId }) => documentId)
  expect(await ids(rest)).toEqual([first])
  expect(await ids(other)).toEqual([second])
  expect(await ids(all)).toEqual([first, second])
})
