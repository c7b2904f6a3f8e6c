import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inSession } from '#dev/postgres.ts'
import { groupVersion } from '#shared/resources/group.ts'
import { aCluster } from '#test/support/cluster.ts'
import { concurrently } from '#test/support/concurrently.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { createRest } from '#test/support/rest.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
let databaseUrl: string
let api: ApiProcess
let tenant: Tenant

// There is no operator: the tests write what it would report.
const settings = {
  ORRERY_LIMIT_STARTS_PER_MINUTE: '3',
  ORRERY_LIMIT_REQUESTS_PER_SECOND: '1000',
  ORRERY_LIMIT_REQUEST_BURST: '1000',
}
beforeAll(async () => {
  databaseUrl = await aDatabase()
  api = await startApi({ databaseUrl, settings })
  tenant = await aTenant(api.url)
})
afterAll(async () => {
  await api?.stop()
  await cluster.close()
})

type Access = { hasAccess: boolean; reason?: string }
type Woken = { phase: string; address?: { host: string }; detail?: string }
type World = { status: { phase: string; message: string; runId: string; idle?: { asleepSince?: string } } }
type Event = { reason: string; message: string; type: string }
type AuditRecord = { action: string; actor: { kind: string; id?: string }; resources: string[] }
type Location = { worldId: string; isAsleep?: boolean; deployment: string; map: string }

const atAccess = { idleStopMinutes: 15, wakeOnAccess: 'Access' }
const now = (): string => new Date().toISOString()

/** A world that was started once, with what an operator reports of it. */
const aWorld = async (of: Tenant = tenant, runtime: object = atAccess) => {
  const namespace = `orrery-${of.scope.organizationId}`
  const id = await of.world({ runtime })
  const path = `/api/worlds/${id}/`
  const read = async () => (await of.rest.call<World>('GET', path)).body.status
  const deployments = async () => (await of.rest.call<{ wokenBy?: string }[]>('GET', `${path}deployments/`)).body
  const reports = async (status: object, ended?: { endReason: string }) => {
    const { runId } = await read()
    const { spec } = await eventually('the push of the run', async () => {
      const live = await cluster.worlds.get({ namespace, name: id })
      return live.spec.granted?.id === runId && live
    })
    const { uid: _, organizationId: __, projectId: ___, worldId: ____, ...captured } = spec.granted ?? {}
    const end = ended && { ...ended, endedAt: now() }
    await cluster.transport.request({
      method: 'PATCH',
      path: `/apis/${groupVersion}/namespaces/${namespace}/worlds/${id}/status`,
      contentType: 'application/merge-patch+json',
      body: {
        status: {
          observedRevision: spec.revision,
          runId: spec.runId,
          run: { image: 'registry.example/own:1', ...captured, restarts: 0, ...end },
          ...status,
        },
      },
    })
  }
  const world = {
    id,
    path,
    read,
    reports,
    deployments,
    patch: async (changes: object) => expect((await of.rest.call('PATCH', path, changes)).status).toBe(200),
    /** Makes the launch context inactive, which no request does. */
    isClosed: () =>
      inSession(databaseUrl, (sql) =>
        sql.query('update launch_contexts set is_active = false where world_id = $1', [id]),
      ),
    events: async () => (await of.rest.call<Event[]>('GET', `${path}events/`)).body,
    records: async () => {
      const { body } = await of.rest.call<AuditRecord[]>('GET', `/api/audit/?action=wakeWorld&resource=${id}`)
      return body
    },
    kubectl: (patch: object) => cluster.worlds.patch({ namespace, name: id }, patch),
    /** Reports that the run ended because nobody was in the world. */
    fallsAsleep: async () => {
      await reports({ phase: 'Stopped', idle: { asleepSince: now() } }, { endReason: 'Idle' })
      await eventually('the sleep', async () => (await read()).idle?.asleepSince !== undefined)
    },
    ends: async (phase: 'Stopped' | 'Error', endReason: string) => {
      await reports({ phase }, { endReason })
      await eventually(`the phase ${phase}`, async () => (await read()).phase === phase)
    },
    isActive: async () => {
      const addresses = [{ name: 'main', host: '192.0.2.7', port: 7777, protocol: 'UDP' }]
      await reports({ phase: 'Active', address: addresses[0], addresses, strategy: 'Default' })
      await eventually('the address', async () => (await read()).phase === 'Active')
    },
    /** Moves the starts and the events of the world into the past. */
    passes: (time: string) =>
      inSession(databaseUrl, async (sql) => {
        for (const table of ['deployments', 'world_events']) {
          const text = `update ${table} set created_at = created_at - interval '${time}' where world_id = $1`
          await sql.query(text, [id])
        }
      }),
    /** Checks the access of a user with a token. */
    access: async (token: string, { userId = 'ann', method = 'GET' } = {}) => {
      const { call } = createRest(api.url, of.scope, { token })
      const answer = await call<Access>(method, `${path}users/${userId}/access/`)
      expect(answer.status).toBe(200)
      return answer.body
    },
  }
  await of.rest.call('POST', `${path}start/`)
  return world
}
type AWorld = Awaited<ReturnType<typeof aWorld>>

const aSleepingWorld = async (of: Tenant = tenant, runtime: object = atAccess): Promise<AWorld> => {
  const world = await aWorld(of, runtime)
  await world.fallsAsleep()
  return world
}

/** A token of a user who may read the worlds of a tenant. */
const aUser = (userId = 'ann', of: Tenant = tenant) => of.token(userId, [`${of.paths.project}/**:r`])
const entered = { hasAccess: true }
const refused = { hasAccess: false }
const runsOf = async ({ deployments }: AWorld) => (await deployments()).length

describe('the access check of a world that sleeps', () => {
  test('starts one run, however many users enter at once, and says who woke the world', async () => {
    const world = await aSleepingWorld()
    const users = await Promise.all(Array.from({ length: 10 }, (_, at) => aUser(`user-${at}`)))
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, at) => world.access(users[at % 10] ?? '', { userId: `user-${at % 10}` })),
    )
    expect(answers.map(({ hasAccess, reason }) => [hasAccess, reason])).toEqual(answers.map(() => [true, undefined]))
    const { phase, runId, idle } = await world.read()
    expect([phase, idle]).toEqual(['Starting', undefined])
    const [first, woken, ...more] = await world.deployments()
    expect([first?.wokenBy, woken?.wokenBy, more]).toEqual([undefined, expect.stringMatching(/^user-\d$/), []])
    const id = woken?.wokenBy
    const [started] = await world.events()
    const message = `Run ${runId} was requested. ${id} woke the world.`
    expect(started).toMatchObject({ reason: 'Started', type: 'Normal', message })
    const resources = expect.arrayContaining([world.id, runId])
    expect(await world.records()).toMatchObject([{ actor: { kind: 'user', id }, resources }])
  })

  test('changes nothing with HEAD', async () => {
    const world = await aSleepingWorld()
    await world.access(await aUser(), { method: 'HEAD' })
    expect([(await world.read()).phase, await runsOf(world)]).toEqual(['Stopped', 1])
    expect(await world.access(await aUser())).toMatchObject(entered)
  })

  test('by an administrator wakes it for the user, and the trail names the administrator', async () => {
    const world = await aSleepingWorld()
    const manager = await tenant.token('boss', [`${tenant.paths.organization}/**:*`])
    expect(await world.access(manager, { userId: 'bob' })).toMatchObject(entered)
    expect((await world.deployments()).map(({ wokenBy }) => wokenBy)).toEqual([undefined, 'bob'])
    expect(await world.records()).toMatchObject([{ actor: { kind: 'user', id: 'boss' } }])
  })

  test('wakes a public world for the users of all organizations, and leaves records in its own one only', async () => {
    const stranger = await aTenant(api.url)
    const token = await aUser('ann', stranger)
    const world = await aSleepingWorld()
    expect(await world.access(token)).toEqual({ userId: 'ann', ...refused })
    expect((await world.read()).phase).toBe('Stopped')
    await world.patch({ isPublic: true })
    expect(await world.access(token)).toMatchObject(entered)
    const [record] = await world.records()
    expect(record?.actor).toEqual({ kind: 'user' })
    expect((await world.deployments()).at(-1)?.wokenBy).toBe('A user of another organization')
    expect((await stranger.rest.call('GET', '/api/audit/?action=wakeWorld')).body).toEqual([])
    expect((await world.events())[0]?.message).toContain('A user of another organization woke the world.')
  })

  const settings: [string, (world: AWorld) => Promise<unknown>][] = [
    ['with wakeOnAccess Never', ({ patch }) => patch({ runtime: { idleStopMinutes: 15, wakeOnAccess: 'Never' } })],
    ['without wakeOnAccess', ({ patch }) => patch({ runtime: { idleStopMinutes: 15 } })],
    ['whose admission is Closed', ({ patch }) => patch({ admission: { policy: 'Closed' } })],
    ['whose launch context is not active', ({ isClosed }) => isClosed()],
  ]
  test.each(settings)('starts nothing %s', async (_, change) => {
    const world = await aSleepingWorld()
    await change(world)
    expect(await world.access(await aUser())).toEqual({ userId: 'ann', ...refused })
    expect([(await world.read()).phase, await runsOf(world), await world.records()]).toEqual(['Stopped', 1, []])
  })

  test('is refused with the sentence of the start, and one event an hour tells it', async () => {
    const own = await aTenant(api.url)
    const world = await aSleepingWorld(own)
    const limits = `/api/organizations/${own.scope.organizationId}/limits/`
    await own.rest.call('PATCH', limits, { maxRunningCapacity: 1 })
    const user = await aUser('ann', own)
    const answers = await Promise.all([user, user, user].map((token) => world.access(token)))
    const { body } = await own.rest.call<Woken>('POST', `${world.path}wake/`)
    expect(body.detail).toContain('maxRunningCapacity')
    expect(answers).toEqual(answers.map(() => ({ userId: 'ann', ...refused, reason: body.detail })))
    await world.patch({ isPublic: true })
    const stranger = await aUser('eve', await aTenant(api.url))
    const reason = 'The world cannot be started now.'
    expect(await world.access(stranger, { userId: 'eve' })).toEqual({ userId: 'eve', ...refused, reason })
    const told = async () => (await world.events()).filter(({ reason }) => reason === 'WakeRefused')
    const event = { type: 'Warning', message: `ann did not wake the world. ${body.detail}` }
    expect(await told()).toMatchObject([event])
    await world.passes('1 hour')
    await eventually('the next event', async () => {
      await world.access(user)
      return (await told()).length === 2
    })
    expect([(await world.read()).phase, await world.records()]).toEqual(['Stopped', []])
    await own.rest.call('PATCH', limits, { maxRunningCapacity: 1_000 })
    await eventually('the wake', async () => (await world.access(user)).hasAccess)
  })
})

describe('a world that does not sleep', () => {
  const states: [string, (world: AWorld) => Promise<unknown>, string][] = [
    ['was stopped by a user', ({ path }) => tenant.rest.call('POST', `${path}stop/`), 'Stopped'],
    [
      'was stopped with kubectl',
      async ({ kubectl, read }) => {
        await kubectl({ spec: { state: 'Stopped' } })
        await eventually('the stop', async () => (await read()).idle === undefined)
      },
      'Stopped',
    ],
  ]
  test.each(states)('because it %s while it slept is not woken', async (_, change, phase) => {
    const world = await aSleepingWorld()
    await change(world)
    expect(await world.access(await aUser())).toEqual({ userId: 'ann', ...refused })
    expect(await tenant.rest.call('POST', `${world.path}wake/`)).toMatchObject({ status: 200, body: { phase } })
    expect([(await world.read()).phase, await runsOf(world)]).toEqual([phase, 1])
  })

  test.each([
    ['Stopped', 'Expired'],
    ['Stopped', 'Completed'],
    ['Error', 'RestartBudget'],
    ['Error', 'StartDeadline'],
  ] as const)('and is %s with the end reason %s is not woken', async (phase, endReason) => {
    const world = await aWorld()
    await world.ends(phase, endReason)
    expect(await world.access(await aUser())).toEqual({ userId: 'ann', ...refused })
    expect(await tenant.rest.call('POST', `${world.path}wake/`)).toMatchObject({ status: 200, body: { phase } })
    expect([(await world.read()).phase, await runsOf(world)]).toEqual([phase, 1])
  })
})

describe('POST wake', () => {
  const wake = (rest: Tenant['rest'], { path }: AWorld) => rest.call<Woken>('POST', `${path}wake/`)

  test('needs r with Access, starts one run, and is answered with the address once the server has one', async () => {
    const world = await aSleepingWorld()
    const reader = await tenant.withKey([`${tenant.paths.project}/**:r`])
    const answers = await concurrently(20, () => wake(reader, world))
    expect(answers.map(({ status, body }) => [status, body])).toEqual(answers.map(() => [200, { phase: 'Starting' }]))
    expect([await runsOf(world), (await world.records()).length]).toEqual([2, 1])
    await world.isActive()
    expect((await wake(reader, world)).body).toMatchObject({ phase: 'Active', address: { host: '192.0.2.7' } })
    expect([await runsOf(world), (await world.records()).length]).toEqual([2, 1])
  })

  test('needs w with Never, and its refusal says what to do', async () => {
    const world = await aSleepingWorld(tenant, { idleStopMinutes: 15 })
    const [reader, writer] = await Promise.all(
      ['r', 'w'].map((verb) => tenant.withKey([`${tenant.paths.project}/**:${verb}`])),
    )
    if (reader === undefined || writer === undefined) throw new Error('no keys')
    const answer = await wake(reader, world)
    expect([answer.status, answer.body.detail]).toEqual([403, expect.stringContaining('Set it to Access')])
    expect((await world.read()).phase).toBe('Stopped')
    expect(await wake(writer, world)).toMatchObject({ status: 200, body: { phase: 'Starting' } })
  })

  test('is refused as a start is', async () => {
    const world = await aSleepingWorld()
    const build = { channelId: 'nowhere', tag: 'v1' }
    await world.patch({ runtime: { ...atAccess, build } })
    const [woken, started] = [
      await wake(tenant.rest, world),
      await tenant.rest.call<Woken>('POST', `${world.path}start/`),
    ]
    expect(started.status).toBe(422)
    expect(woken).toMatchObject({ status: 422, body: { detail: started.body.detail } })
    expect([(await world.read()).phase, await runsOf(world)]).toEqual(['Stopped', 1])
  })

  test('does not exist for another organization', async () => {
    const world = await aSleepingWorld()
    await world.patch({ isPublic: true })
    const stranger = await aTenant(api.url)
    const foreign = createRest(api.url, tenant.scope, await stranger.key([`${stranger.paths.organization}/**:*`]))
    expect((await wake(foreign, world)).status).toBe(404)
    expect((await world.read()).phase).toBe('Stopped')
  })

  test('of a world that runs spends nothing of the rate of its starts', async () => {
    const world = await aSleepingWorld()
    const [reader, writer] = [
      await tenant.withKey([`${tenant.paths.project}/**:r`]),
      await tenant.withKey([`${tenant.paths.project}/**:w`]),
    ]
    for (let at = 0; at < 6; at += 1) expect((await wake(reader, world)).status).toBe(200)
    expect((await writer.call('POST', `${world.path}stop/`)).status).toBe(200)
  })
})

describe('the rates of wakes', () => {
  test('allow one wake a minute of a world', async () => {
    const world = await aSleepingWorld()
    expect(await world.access(await aUser())).toMatchObject(entered)
    await world.fallsAsleep()
    const { hasAccess, reason } = await world.access(await aUser('bob'), { userId: 'bob' })
    expect([hasAccess, reason]).toEqual([
      false,
      expect.stringMatching(/1 wake per minute and world\. Retry in \d+ s\.$/),
    ])
    const reader = await tenant.withKey([`${tenant.paths.project}/**:r`])
    const answer = await reader.call('POST', `${world.path}wake/`)
    expect([answer.status, Number(answer.headers.get('retry-after'))]).toEqual([429, expect.any(Number)])
    await world.passes('1 minute')
    await eventually('the wake', async () => (await reader.call('POST', `${world.path}wake/`)).status === 200)
    expect((await world.read()).phase).toBe('Starting')
  })

  test('allow six wakes a minute of a user, also at the same time in several organizations', async () => {
    const other = await aTenant(api.url)
    const sleeping = await Promise.all(
      [tenant, tenant, tenant, tenant, other, other, other, other].map((of) => aSleepingWorld(of)),
    )
    for (const world of sleeping) await world.patch({ isPublic: true })
    const user = await aUser('carl')
    const answers = await Promise.all(sleeping.map((world) => world.access(user, { userId: 'carl' })))
    expect(answers.filter(({ hasAccess }) => hasAccess)).toHaveLength(6)
    const [first, second] = sleeping.filter((_, at) => answers[at]?.hasAccess === false)
    expect(answers.flatMap(({ reason }) => reason ?? [])).toEqual(
      Array.from({ length: 2 }, () => expect.stringContaining('6 wakes per minute and user')),
    )
    // Another user, and another organization's user with the same id.
    expect(await first?.access(await aUser('dora'), { userId: 'dora' })).toMatchObject(entered)
    expect(await second?.access(await aUser('carl', other), { userId: 'carl' })).toMatchObject(entered)
  })

  test('spend the rate of starts, which the platform key does not have', async () => {
    const world = await aSleepingWorld()
    for (let at = 0; at < 2; at += 1) await tenant.rest.call('POST', `${world.path}start/`)
    await world.fallsAsleep()
    const { hasAccess, reason } = await world.access(await aUser())
    expect([hasAccess, reason]).toEqual([
      false,
      expect.stringMatching(/3 starts per minute and world\. Retry in \d+ s\.$/),
    ])
    expect(await tenant.rest.call('POST', `${world.path}wake/`)).toMatchObject({ status: 200 })
    await world.fallsAsleep()
    expect(await tenant.rest.call('POST', `${world.path}wake/`)).toMatchObject({ status: 200 })
  })
})

test('travel locations have the worlds that users may wake with include=idle only, marked', async () => {
  const own = await aTenant(api.url)
  const [sleeping, never, active, inactive] = await Promise.all([
    aSleepingWorld(own),
    aSleepingWorld(own, { idleStopMinutes: 15 }),
    aWorld(own),
    aSleepingWorld(own),
  ])
  await active.isActive()
  await inactive.isClosed()
  const list = async (query = '') => {
    const path = `/api/worlds/travel/locations/${query}`
    return (await own.rest.call<{ worlds: Location[] }>('GET', path)).body.worlds
  }
  expect((await list()).map(({ worldId, isAsleep }) => [worldId, isAsleep])).toEqual([[active.id, undefined]])
  const listed = await list('?include=idle')
  expect(listed.map(({ worldId, isAsleep }) => [worldId, isAsleep]).toSorted()).toEqual(
    [
      [active.id, undefined],
      [sleeping.id, true],
    ].toSorted(),
  )
  expect(listed.find(({ isAsleep }) => isAsleep)?.deployment).toBe('')
  expect((await own.rest.call('GET', '/api/worlds/travel/locations/?include=all')).status).toBe(400)
  for (const world of [sleeping, never, inactive]) expect((await world.read()).phase).toBe('Stopped')
  expect(await sleeping.access(await aUser('ann', own))).toMatchObject(entered)
  expect((await list('?include=idle')).map(({ worldId }) => worldId)).toEqual([active.id])
})

// The last test, because it starts the API again.
test('a world that sleeps goes on to sleep when the cluster loses its resource, and can be woken', async () => {
  const world = await aSleepingWorld()
  const ref = { namespace: `orrery-${tenant.scope.organizationId}`, name: world.id }
  const before = await cluster.worlds.get(ref)
  await api.stop()
  await cluster.worlds.patch(ref, { metadata: { finalizers: null } })
  await cluster.worlds.delete(ref)
  api = await startApi({ databaseUrl, settings, port: Number(new URL(api.url).port) })
  await eventually('the new resource, with its uid on record', async () => {
    const { metadata } = await cluster.worlds.get(ref)
    const sql = 'select resource_uid as uid from worlds where id = $1'
    const { rows } = await inSession(databaseUrl, (session) => session.query<{ uid: string }>(sql, [world.id]))
    return metadata.uid !== before.metadata.uid && rows[0]?.uid === metadata.uid
  })
  // An edit is pushed with all that the resource may execute.
  await world.patch({ description: 'edited' })
  await eventually('the edit', async () => (await cluster.worlds.get(ref)).spec.description === 'edited')
  expect((await cluster.worlds.get(ref)).spec.granted).toBeUndefined()
  const conditions = [
    { type: 'Ready', status: 'False', reason: 'WaitingForApi', message: '', lastTransitionTime: now() },
  ]
  await cluster.transport.request({
    method: 'PATCH',
    path: `/apis/${groupVersion}/namespaces/${ref.namespace}/worlds/${ref.name}/status`,
    contentType: 'application/merge-patch+json',
    body: {
      status: {
        phase: 'Inactive',
        observedRevision: (await cluster.worlds.get(ref)).spec.revision,
        message: 'Waits.',
        conditions,
      },
    },
  })
  await eventually('the report', async () => (await world.read()).message === 'Waits.')
  expect(await world.read()).toMatchObject({ phase: 'Stopped', idle: { asleepSince: expect.any(String) } })
  expect(await world.access(await aUser())).toMatchObject(entered)
  await eventually('the grant of the run', async () => (await cluster.worlds.get(ref)).spec.granted !== undefined)
})
