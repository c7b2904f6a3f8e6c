import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import { send } from '#test/support/rest.ts'
import { openSocket } from '#test/support/socket.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>
let tenant: Tenant
const cluster = aCluster()
beforeAll(async () => {
  ;[api, operator] = [await startApi({ databaseUrl: await aDatabase() }), await startOperator()]
  tenant = await aTenant(api.url)
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop()])
})

type World = { documentId: string; status: { phase: string; message: string }; pictureUrl?: string }

const active = async (body: object = {}): Promise<string> => {
  const id = await tenant.world(body)
  const pod = cluster.pod(`orrery-${tenant.scope.organizationId}`, id)
  expect(await tenant.rest.call('POST', `/api/worlds/${id}/start/`)).toMatchObject({ status: 200, body: undefined })
  await pod.exists()
  await pod.becomesReady()
  await eventually('Active', async () => {
    const { body: world } = await tenant.rest.call<World>('GET', `/api/worlds/${id}/`)
    return world.status.phase === 'Active'
  })
  return id
}

describe('a world that runs', () => {
  test('accepts a PATCH and reports the changes that wait for the next start', async () => {
    const id = await active({ runtime: { mapName: 'hall' } })
    const path = `/api/worlds/${id}/`
    const patch = async (body: object) => (await tenant.rest.call<World>('PATCH', path, body)).body.status.message
    expect(await patch({ name: 'Foyer' })).toBe('')
    expect(await patch({ runtime: { mapName: 'roof' } })).toBe('Changes of map take effect at the next start.')
    expect(await patch({ runtime: { mapName: 'hall' } })).toBe('')
    await patch({ runtime: { mapName: 'roof' } })
    await tenant.rest.call('POST', `${path}start/`)
    expect((await tenant.rest.call<World>('GET', path)).body.status.message).not.toContain('next start')
  })

  type Run = Record<string, unknown> & { id: string; createdAt: string; readyAt: string; endedAt: string }
  const runsOf = async (id: string) => (await tenant.rest.call<Run[]>('GET', `/api/worlds/${id}/deployments/`)).body
  const statusOf = async (id: string) =>
    (await tenant.rest.call<World & { status: Record<string, unknown> }>('GET', `/api/worlds/${id}/`)).body.status

  test('shows where players connect in REST, travel locations and realtime, until its server is gone', async () => {
    const id = await active({ networking: { strategy: 'ClusterIP' } })
    const host = expect.stringMatching(/^[0-9.]+$/)
    const addresses = [{ name: 'game', protocol: 'TCPUDP', host, port: 7777 }]
    const reached = { address: { host, port: 7777 }, addresses, strategy: 'ClusterIP' }
    expect(await statusOf(id)).toMatchObject(reached)
    const rest = await tenant.withKey([`${tenant.paths.project}/worlds/${id}:r`])
    const locations = await rest.call<{ worlds: object[] }>('GET', '/api/worlds/travel/locations/')
    expect(locations.body.worlds).toMatchObject([{ worldId: id, ...reached }])
    const socket = await openSocket(api.url, tenant.scope)
    socket.subscribe('world', id)
    await socket.hears('the address', ({ data }) => data?.address !== undefined)
    expect(socket.updatesOf(id).at(-1)?.data).toMatchObject(reached)
    await tenant.rest.call('POST', `/api/worlds/${id}/stop/`)
    await socket.hears('the end', ({ data }) => data?.phase === 'Stopped' && data.address === undefined)
    expect(await statusOf(id)).not.toHaveProperty('address')
    expect(await statusOf(id)).not.toHaveProperty('addresses')
    socket.terminate()
  })

  test('has a deployment that says when it ran, with what, and why it ended', async () => {
    const id = await active()
    const [running] = await runsOf(id)
    expect(running).toMatchObject({ status: 'Running', image: expect.any(String), restarts: 0 })
    expect(running).toMatchObject({ startedAt: running?.createdAt, readyAt: expect.any(String) })
    expect(running).not.toHaveProperty('endedAt')
    await cluster.pod(`orrery-${tenant.scope.organizationId}`, id).exits(0)
    const ended = await eventually('the end of the run', async () => {
      const [run] = await runsOf(id)
      return run?.endedAt !== undefined && run
    })
    expect(ended).toMatchObject({ endReason: 'Completed', exitCode: 0, restarts: 0 })
  })

  test('counts the restarts of its server, with the last exit code', async () => {
    const id = await active()
    await cluster.pod(`orrery-${tenant.scope.organizationId}`, id).exits(3)
    const restarted = await eventually('the restart', async () => {
      const [run] = await runsOf(id)
      return run?.restarts === 1 && run
    })
    expect(restarted).toMatchObject({ status: 'Restarting', exitCode: 3 })
    await tenant.rest.call('POST', `/api/worlds/${id}/stop/`)
    const ended = await eventually('the end', async () => {
      const [run] = await runsOf(id)
      return run?.endReason !== undefined && run
    })
    expect(ended).toMatchObject({ endReason: 'Stopped', endedAt: expect.any(String) })
  })

  test('is public only while active and public, without the fields of its tenant', async () => {
    const rcon = { name: 'rcon', containerPort: 25_575, expose: 'Internal' }
    const networking = { ports: [{ name: 'game', containerPort: 7777 }, rcon] }
    const id = await active({ networking, streaming: { providerA: { cmsId: 'c', authorizationId: 'secret-id' } } })
    const stranger = await aTenant(api.url)
    const rest = await stranger.withKey([])
    const find = async () =>
      (await rest.call<World[]>('GET', '/api/worlds/public/')).body.find(({ documentId }) => documentId === id)
    expect(await find()).toBeUndefined()
    await tenant.rest.call('PATCH', `/api/worlds/${id}/`, { isPublic: true })
    const shown = await find()
    expect(shown).toMatchObject({
      networking: { ports: [{ name: 'game' }] },
      launchContext: { isPublic: true, permissionVerb: 'r', providerAStreaming: { cmsId: 'c' } },
    })
    expect(JSON.stringify(shown)).not.toMatch(/manifest|authorizationId|secret-id|"args"|rcon/)
    await tenant.rest.call('POST', `/api/worlds/${id}/stop/`)
    expect(await find()).toBeUndefined()
  })

  test('is a travel location for the keys that read it, with its run, and filters by the headers', async () => {
    await tenant.rest.call('PUT', '/api/builds/live/v1/', { image: 'registry.example/a:1', contentId: 'content-1' })
    const id = await active({ runtime: { mapName: 'hall', build: { channelId: 'live', tag: 'v1' } } })
    type Run = { id: string; status: string; runtime: object }
    const list = async (query = '') =>
      (await tenant.rest.call<Run[]>('GET', `/api/worlds/${id}/deployments/${query}`)).body
    const [run] = await list()
    expect(run).toMatchObject({
      status: 'Running',
      runtime: { mapName: 'hall', build: { channelId: 'live', content: { id: 'content-1' } } },
    })
    expect([await list('?status=Running'), await list('?status=Stopped,Error')]).toEqual([[run], []])
    type Travel = { worlds: Record<string, unknown>[] }
    const rest = await tenant.withKey([`${tenant.paths.project}/worlds/${id}:r`])
    const locations = await rest.call<Travel>('GET', '/api/worlds/travel/locations/')
    expect(locations.body.worlds).toMatchObject([
      {
        worldId: id,
        worldName: 'Lobby',
        deployment: run?.id,
        map: 'hall',
        contentId: 'content-1',
        ...tenant.scope,
        launchContextName: 'Lobby',
        buildId: expect.stringMatching(/^bld-/),
        liveConfigUrl: `${api.url}/api/documents/liveConfig/World:${id}/`,
        queueState: { queued: 0, active: 0 },
        admission: { policy: 'Open', capacity: 30 },
      },
    ])
    const other = { 'x-svc-project-id': `prj-${'0'.repeat(26)}` }
    expect((await rest.call('GET', '/api/worlds/travel/locations/', undefined, other)).status).toBe(404)
  })
})

describe('a picture', () => {
  const aPng = async (background: string) =>
    new Uint8Array(
      await sharp({ create: { width: 8, height: 4, channels: 3, background } })
        .png()
        .toBuffer(),
    )
  const upload = async (path: string, body: Uint8Array<ArrayBuffer> | FormData, type?: string) =>
    send(api.url, {
      method: 'PATCH',
      path,
      headers: {
        'x-api-key': await tenant.key([`${tenant.paths.organization}/**:w`]),
        'x-svc-organization-id': tenant.scope.organizationId,
        'x-svc-project-id': tenant.scope.projectId,
        ...(type ? { 'content-type': type } : {}),
      },
      body,
    })
  const urlIn = (text: string): string => (JSON.parse(text) as { pictureUrl: string }).pictureUrl

  test('is accepted raw and as multipart, served by content, and replaces the old one', async () => {
    const path = `/api/worlds/${await tenant.world()}/pictureUrl/`
    const first = urlIn((await upload(path, await aPng('red'), 'image/png')).text)
    const served = await fetch(first)
    expect([served.status, served.headers.get('content-type')]).toEqual([200, 'image/webp'])
    expect(served.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(await sharp(Buffer.from(await served.arrayBuffer())).metadata()).toMatchObject({ format: 'webp', width: 8 })
    const again = await fetch(first, { headers: { 'if-none-match': served.headers.get('etag') ?? '' } })
    expect([again.status, await again.text()]).toEqual([304, ''])
    const form = new FormData()
    form.append('file', new Blob([await aPng('blue')], { type: 'image/png' }), 'a.png')
    const second = await upload(path, form)
    expect(second.status).toBe(200)
    expect(urlIn(second.text)).not.toBe(first)
    expect((await fetch(first)).status).toBe(404)
    expect((await fetch(urlIn(second.text))).status).toBe(200)
    const organization = await upload('/api/organizations/current/pictureUrl/', await aPng('red'), 'image/png')
    expect(urlIn(organization.text)).toContain(tenant.scope.organizationId)
  })

  const svg = new Uint8Array(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'))
  test.each<[string, () => Promise<Uint8Array<ArrayBuffer>>, string, number]>([
    ['an SVG', async () => svg, 'image/svg+xml', 415],
    ['an SVG that says it is a PNG', async () => svg, 'image/png', 415],
    ['a text', async () => new Uint8Array(Buffer.from('hello')), 'text/plain', 415],
    ['nothing', async () => new Uint8Array(), 'image/png', 400],
    ['half a picture', async () => (await aPng('red')).slice(0, 60), 'image/png', 400],
    ['10 MiB and a byte', async () => new Uint8Array(10 * 1024 * 1024 + 1), 'image/png', 413],
    [
      'more than 16 megapixels',
      async () =>
        new Uint8Array(
          await sharp({ create: { width: 4097, height: 4096, channels: 3, background: 'red' } })
            .png()
            .toBuffer(),
        ),
      'image/png',
      400,
    ],
  ])('is not created from %s', async (_, bytes, type, status) => {
    const path = `/api/worlds/${await tenant.world()}/pictureUrl/`
    expect((await upload(path, await bytes(), type)).status).toBe(status)
  })

  test('requires exactly one file in multipart', async () => {
    const path = `/api/worlds/${await tenant.world()}/pictureUrl/`
    const [none, two] = [new FormData(), new FormData()]
    none.append('file', 'text')
    for (const name of ['a', 'b']) two.append(name, new Blob([await aPng('red')]), name)
    for (const form of [none, two]) expect((await upload(path, form)).status).toBe(400)
  })
})
