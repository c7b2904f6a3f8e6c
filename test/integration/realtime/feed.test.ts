import { afterAll, beforeAll, expect, test } from 'vitest'
import { inSession } from '#dev/postgres.ts'
import { concurrently } from '#test/support/concurrently.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { type Heard, openSocket } from '#test/support/socket.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

let databaseUrl: string
let replicas: ApiProcess[]
let tenant: Tenant
beforeAll(async () => {
  databaseUrl = await aDatabase()
  replicas = [await startApi({ databaseUrl }), await startApi({ databaseUrl })]
  tenant = await aTenant(urlOf(0))
})
afterAll(async () => {
  await Promise.all(replicas.map((replica) => replica.stop()))
})

type World = {
  worldId: string
  name?: string
  labels?: Record<string, string>
  isDeleted?: true
  players?: number
  queued?: number
  restarts?: number
  version: string
  status?: { phase: string }
}
type Page = { worlds: World[]; snapshot?: { isFirst: boolean; isLast: boolean } }

const urlOf = (at: number): string => replicas[at]?.url ?? ''
const pageOf = ({ data }: Heard): Page => data as Page
/** Follows a feed and keeps the worlds as a client does. */
const follow = async (id: string, scope: Parameters<typeof openSocket>[1], replica = 0) => {
  const socket = await openSocket(urlOf(replica), scope)
  socket.subscribe('worlds', id)
  const pages = (): Page[] => socket.updatesOf(id).map(pageOf)
  const worlds = (): Map<string, World> => {
    const known = new Map<string, World>()
    for (const world of pages().flatMap((page) => page.worlds)) {
      expect(world.version >= (known.get(world.worldId)?.version ?? '')).toBe(true)
      known.set(world.worldId, world)
    }
    return new Map([...known].filter(([, { isDeleted }]) => !isDeleted))
  }
  return {
    ...socket,
    pages,
    worlds,
    hasSnapshot: () => eventually('the snapshot', async () => pages().some(({ snapshot }) => snapshot?.isLast)),
    sees: (what: string, fits: (seen: Map<string, World>) => boolean) => eventually(what, async () => fits(worlds())),
  }
}

test('one subscription follows all worlds of a project: a snapshot in pages, then every change on every replica', async () => {
  const ids = await concurrently(105, (at) => tenant.world({ name: `World ${at}` }))
  const { projectId } = tenant.scope
  const feed = await follow(projectId, tenant.scope, 1)
  await feed.hasSnapshot()
  // Changes from before the subscription may still arrive between the pages.
  const snapshots = feed
    .pages()
    .flatMap(({ snapshot, worlds }) => (snapshot ? [[snapshot.isFirst, snapshot.isLast, worlds.length]] : []))
  expect(snapshots).toEqual([
    [true, false, 100],
    [false, true, 5],
  ])
  expect([...feed.worlds().keys()].toSorted()).toEqual(ids.toSorted())

  const [first = '', second = '', third = ''] = ids
  await tenant.rest.call('POST', `/api/worlds/${first}/start/`)
  await tenant.rest.call('PATCH', `/api/worlds/${second}/`, { name: 'Renamed' })
  await tenant.rest.call('DELETE', `/api/worlds/${third}/`)
  const made = await tenant.world()
  await feed.sees('the start', (seen) => seen.get(first)?.status?.phase === 'Starting')
  await feed.sees('the name', (seen) => seen.get(second)?.name === 'Renamed')
  await feed.sees('the deletion and the new world', (seen) => !seen.has(third) && seen.has(made))
  feed.unsubscribe('worlds', projectId)
  feed.terminate()
})

test('a world in a feed has its labels, size, place, map and creation, in the snapshot and after each change', async () => {
  const own = await aTenant(urlOf(0))
  const { projectId } = own.scope
  const metadata = { annotations: { ticket: 'EV-1042' }, labels: { team: 'events', quote: '"\n' } }
  const id = await own.world({ metadata, runtime: { mapName: 'hall' } })
  const path = `/api/worlds/${id}/`
  const created = (await own.rest.call<{ createdAt: string; networking: object }>('GET', path)).body
  const scaling = { profile: 'Capacity100', configuration: null }
  const feed = await follow(projectId, own.scope, 1)
  await feed.hasSnapshot()
  const shown = {
    worldId: id,
    projectId,
    name: 'Lobby',
    createdAt: created.createdAt,
    labels: metadata.labels as Record<string, string>,
    profile: 'Capacity30',
    group: 'production',
    region: 'Europe',
    mapName: 'hall',
    capacity: 30,
    restarts: 0,
  }
  const { version: _, status: __, ...first } = feed.worlds().get(id) ?? {}
  expect(first).toEqual(shown)

  let expected = shown
  const changes: [body: object, shown: Partial<typeof shown>][] = [
    [{ metadata: { ...metadata, labels: { team: 'arena' } } }, { labels: { team: 'arena' } }],
    [{ name: 'Arena' }, { name: 'Arena' }],
    [{ networking: { ...created.networking, scaling } }, { profile: 'Capacity100', capacity: 100 }],
    [{ runtime: { mapName: 'roof' } }, { mapName: 'roof' }],
    [{ admission: { policy: 'Open', capacity: 7 } }, { capacity: 7 }],
    [{ compute: { group: 'staging', region: 'NorthAmerica' } }, { group: 'staging', region: 'NorthAmerica' }],
  ]
  for (const [body, change] of changes) {
    expect(await own.rest.call('PATCH', path, body)).toMatchObject({ status: 200 })
    expected = { ...expected, ...change }
    await feed.sees(JSON.stringify(body), (seen) => {
      const { version: _, status: __, ...now } = seen.get(id) ?? {}
      return JSON.stringify(now) === JSON.stringify(expected)
    })
  }
  feed.terminate()
})

test('the labels of a message have a limit of bytes, and every world of a snapshot or change arrives', async () => {
  const own = await aTenant(urlOf(0))
  const { projectId } = own.scope
  const labelsOf = (mark: string) => ({
    annotations: {},
    labels: Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`${at}`, mark.repeat(4_000)])),
  })
  const ids = await concurrently(30, () => own.world({ metadata: labelsOf('a') }))
  const feed = await follow(projectId, own.scope)
  await feed.hasSnapshot()
  const marksIn = (seen: Map<string, World>): (string | undefined)[] =>
    ids.map((id) => seen.get(id)?.labels?.['7']?.[0])
  expect(marksIn(feed.worlds())).toEqual(ids.map(() => 'a'))
  expect(feed.pages().filter(({ snapshot }) => snapshot).length).toBeGreaterThan(2)

  await concurrently(ids.length, (at) => own.rest.call('PATCH', `/api/worlds/${ids[at]}/`, { metadata: labelsOf('b') }))
  await feed.sees('all new labels', (seen) => marksIn(seen).every((mark) => mark === 'b'))
  const bytes = feed.pages().map((page) => JSON.stringify(page).length)
  expect(Math.max(...bytes)).toBeLessThan(400 * 1024)
  feed.terminate()
})

test('a world whose row has no labels, or null, has none in the feed', async () => {
  const own = await aTenant(urlOf(0))
  const ids = [await own.world(), await own.world()]
  const write = async (metadata: string[]) => {
    for (const [at, text] of metadata.entries()) {
      await inSession(databaseUrl, (sql) => sql.query('update worlds set metadata = $1 where id = $2', [text, ids[at]]))
    }
  }
  const labelsIn = (seen: Map<string, World>) => JSON.stringify(ids.map((id) => seen.get(id)?.labels))
  await write(['{"annotations":{}}', '{"annotations":{},"labels":null}'])
  const feed = await follow(own.scope.projectId, own.scope)
  await feed.hasSnapshot()
  expect(labelsIn(feed.worlds())).toBe('[{},{}]')
  await write(['{"labels":{"a":"b"}}', '{"labels":{"a":"b"}}'])
  await feed.sees('the labels', (seen) => labelsIn(seen) === '[{"a":"b"},{"a":"b"}]')
  await write(['{"annotations":{}}', '{"annotations":{},"labels":null}'])
  await feed.sees('no labels', (seen) => labelsIn(seen) === '[{},{}]')
  feed.terminate()
})

test('a feed has the players that a server reports and the restarts, and a client of the world gets no message for them', async () => {
  const own = await aTenant(urlOf(0))
  const id = await own.world()
  const feed = await follow(own.scope.projectId, own.scope, 1)
  const single = await openSocket(urlOf(1), own.scope)
  single.subscribe('world', id)
  await single.hears('the status', ({ data }) => data !== undefined)
  await feed.hasSnapshot()
  const countsIn = (seen: Map<string, World>) => {
    const { players, queued, restarts } = seen.get(id) ?? {}
    return [players, queued, restarts]
  }
  const write = (columns: string) =>
    inSession(databaseUrl, (sql) => sql.query(`update worlds set ${columns} where id = $1`, [id]))
  expect(countsIn(feed.worlds())).toEqual([undefined, undefined, 0])
  const { version } = feed.worlds().get(id) ?? {}
  for (const [columns, counts] of [
    ['queue_active = 12, queue_queued = 3', [12, 3, 0]],
    ['restarts = 2', [12, 3, 2]],
    ['queue_active = 0, queue_queued = 0', [0, 0, 2]],
    ['queue_active = null, queue_queued = null', [undefined, undefined, 2]],
  ] as const) {
    await write(columns)
    await feed.sees(columns, (seen) => JSON.stringify(countsIn(seen)) === JSON.stringify(counts))
    expect(feed.worlds().get(id)?.version).toBe(version)
  }
  await write("queue_active = 9, phase = 'Active'")
  await feed.sees('the phase and the players', (seen) => {
    const { players, status } = seen.get(id) ?? {}
    return players === 9 && status?.phase === 'Active'
  })
  await single.hears('the phase', ({ data }) => data?.phase === 'Active')
  expect(single.updatesOf(id)).toHaveLength(2)
  await own.rest.call('POST', `/api/worlds/${id}/start/`)
  await feed.sees('a run without counts', (seen) => JSON.stringify(countsIn(seen)) === '[null,null,0]')
  const late = await follow(own.scope.projectId, own.scope)
  await late.hasSnapshot()
  expect(late.worlds()).toEqual(feed.worlds())
  for (const each of [feed, single, late]) each.terminate()
})

test('an organization has one feed for all its projects, and a connection for one project has no other feed', async () => {
  const own = await aTenant(urlOf(0))
  const { organizationId, projectId } = own.scope
  const world = await own.world()
  const feed = await follow(organizationId, { organizationId })
  await feed.sees('the world', (seen) => seen.has(world))
  const other = await own.rest.call<{ projectId: string }>('POST', '/api/organizations/projects/', { name: 'Other' })
  const headers = { 'x-svc-project-id': other.body.projectId }
  const body = { name: 'Elsewhere', transient: false }
  const made = await own.rest.call<{ worldId: string }>('POST', '/api/worlds/', body, headers)
  await feed.sees('a world of the new project', (seen) => seen.has(made.body.worldId))
  const narrow = await openSocket(urlOf(0), own.scope)
  narrow.subscribe('worlds', organizationId)
  await narrow.hears('the refusal', ({ error }) => error === 'Invalid resource id')
  narrow.subscribe('worlds', projectId)
  await narrow.hears('the own project', ({ data }) => data !== undefined)
  expect(JSON.stringify(narrow.heard)).not.toContain(made.body.worldId)
  for (const socket of [feed, narrow]) socket.terminate()
})

test('a feed shows only worlds that the credential may read, also after its permissions change', async () => {
  const own = await aTenant(urlOf(0))
  const { organizationId, projectId } = own.scope
  const [open, hidden] = [await own.world(), await own.world()]
  const apiKey = await own.key([`${own.paths.project}/worlds/${open}:r`])
  const keys = '/api/organizations/apiKeys/'
  const [key] = (await own.rest.call<{ documentId: string }[]>('GET', keys)).body
  const permit = async (permissions: string[]) => {
    expect((await own.rest.call('PATCH', `${keys}${key?.documentId}/`, { permissions })).status).toBe(200)
  }
  const feed = await follow(projectId, { organizationId, projectId, worldId: open, apiKey })
  await feed.hasSnapshot()
  for (const id of [hidden, open]) await own.rest.call('POST', `/api/worlds/${id}/start/`)
  await feed.sees('the start', (seen) => seen.get(open)?.status?.phase === 'Starting')
  expect([...feed.worlds().keys()]).toEqual([open])
  await permit([`${own.paths.project}/**:r`])
  await feed.sees('the other world', (seen) => seen.has(hidden))
  await permit([])
  await feed.hears('the end of the subscription', ({ error }) => error === 'No permission')
  feed.terminate()
})

test('refuses the feed of a project that does not exist or belongs to another tenant', async () => {
  const stranger = await aTenant(urlOf(0))
  await stranger.world()
  const { organizationId } = tenant.scope
  const socket = await openSocket(urlOf(0), { organizationId })
  socket.subscribe('worlds', stranger.scope.projectId)
  await socket.hears('the warning', ({ warning }) => warning === 'resource_not_found')
  const apiKey = await stranger.key([`${stranger.paths.organization}/**:r`])
  const reader = await openSocket(urlOf(0), { organizationId: stranger.scope.organizationId, apiKey })
  reader.subscribe('worlds', tenant.scope.projectId)
  await reader.hears('the warning', ({ warning }) => warning === 'resource_not_found')
  reader.subscribe('worlds', organizationId)
  await reader.hears('the refusal', ({ error }) => error === 'Invalid resource id')
  for (const each of [socket, reader]) each.terminate()
})
