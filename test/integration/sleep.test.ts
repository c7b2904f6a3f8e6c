import type { Socket } from 'node:dgram'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { idleRule } from '#shared/domain/idle.ts'
import { groupVersion } from '#shared/resources/group.ts'
import { aCluster } from '#test/support/cluster.ts'
import { startA2S } from '#test/support/gameServers/a2s.ts'
import type { Game } from '#test/support/gameServers/game.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import type { WorldBody } from '#test/support/rest.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
const operatorSettings = { ORRERY_QUEUE_POLL_MS: '200' }
const games: Socket[] = []
let databaseUrl: string
let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>
let tenant: Tenant
let namespace: string

beforeAll(async () => {
  databaseUrl = await aDatabase()
  ;[api, operator] = await Promise.all([startApi({ databaseUrl }), startOperator(operatorSettings)])
  tenant = await aTenant(api.url)
  namespace = `orrery-${tenant.scope.organizationId}`
  // The first world of a tenant makes its namespace.
  await cluster.world(namespace, await tenant.world()).exists()
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop()])
  for (const socket of games) socket.close()
  await cluster.close()
})

const restartOperator = async (): Promise<void> => {
  await operator.stop()
  operator = await startOperator(operatorSettings)
}

type Made = { name: string; namespace: string; labels?: Record<string, string>; idleStopMinutes?: number }

/** Creates a World with kubectl, whose game server is in this process, and waits until it is Active. */
const aWorld = async ({ idleStopMinutes = 10, name, ...place }: Made) => {
  const game: Game = { isAnswering: true, players: 0, bots: 0, asked: 0, capacity: 20, map: 'attic', version: '1' }
  const socket = startA2S(game, 0)
  games.push(socket)
  await once(socket, 'listening')
  const ports = [{ name: 'game', containerPort: socket.address().port, protocol: 'UDP' as const }]
  const runtime = { query: { protocol: 'A2S' as const, timeoutSeconds: 1 } }
  await cluster.worlds.create({
    apiVersion: groupVersion,
    kind: 'World',
    metadata: { name, ...place },
    spec: { state: 'Running', idleStopMinutes, networking: { ports }, runtime },
  })
  const pod = cluster.pod(place.namespace, name)
  const read = () => cluster.worlds.get({ namespace: place.namespace, name })
  const shows = <T>(what: string, look: (world: Awaited<ReturnType<typeof read>>) => T | false | undefined) =>
    eventually(`${name}: ${what}`, async () => look(await read()))
  const patch = (body: object, ...more: string[]) =>
    cluster.kubectl('-n', place.namespace, 'patch', 'world', name, '--type=merge', '-p', JSON.stringify(body), ...more)
  const isActive = async (): Promise<void> => {
    await pod.exists()
    await pod.becomesReady({ ip: '127.0.0.1' })
    await shows('Active', ({ status }) => status?.phase === 'Active')
  }
  await isActive()
  return {
    game,
    pod,
    read,
    shows,
    isActive,
    edits: (spec: object) => patch({ spec }),
    isEmpty: () => shows('nobody is in it', ({ status }) => status?.idle?.sleepsAt !== undefined && status.idle),
    keptAwakeBy: (reason: string) =>
      shows(`kept awake by ${reason}`, ({ status }) => status?.idle?.keptAwakeBy === reason),
    /** Puts back the time since which nobody is in the world. The operator reads it with the edit that follows. */
    isEmptyFor: (minutes: number) => {
      const since = new Date(Date.now() - minutes * 60_000).toISOString()
      patch({ status: { idle: { since } } }, '--subresource=status')
      patch({ spec: { displayName: `Empty for ${minutes} minutes` } })
    },
    isAsleep: async () => {
      const world = await shows('asleep', (each) => each.status?.idle?.asleepSince !== undefined && each)
      expect(world.spec.state).toBe('Running')
      expect(world.status).toMatchObject({
        phase: 'Stopped',
        run: { endReason: 'Idle', endedAt: world.status?.idle?.asleepSince },
      })
      expect(world.status?.idle).not.toHaveProperty('keptAwakeBy')
      await pod.isGone()
      return world
    },
  }
}

describe.each([
  ['outside organizations', () => ({ namespace: 'default' })],
  ['of an organization', () => ({ namespace, labels: { 'orrery.dev/project': tenant.scope.projectId } })],
])('a World %s', (_, place) => {
  const isOfOrganization = () => place().namespace !== 'default'
  const inRest = async (id: string | undefined, path = '') => {
    const { status, body } = await tenant.rest.call<unknown>('GET', `/api/worlds/${id}/${path}`)
    expect(status).toBe(200)
    return body
  }

  test('sleeps once nobody was in for its time, and a stop and a start with kubectl begin another run', async () => {
    const world = await aWorld({ ...place(), name: 'drowsy' })
    const { since = '', sleepsAt = '' } = await world.isEmpty()
    expect(Date.parse(sleepsAt) - Date.parse(since)).toBe(600_000)
    world.game.players = 2
    await world.keptAwakeBy('Players')
    expect((await world.read()).status?.idle).toEqual({ keptAwakeBy: 'Players' })
    world.game.players = 0
    expect(Date.parse((await world.isEmpty()).since ?? '')).toBeGreaterThanOrEqual(Date.parse(since))
    world.isEmptyFor(11)
    const slept = await world.isAsleep()
    expect(slept.status?.run?.endMessage).toBe('Nobody was in the world for 10 minutes.')
    expect(cluster.kubectl('-n', place().namespace, 'get', 'wld', 'drowsy', '-o', 'wide')).toMatch(
      / EMPTY\n.* Stopped .* 1[1-3]m\n$/,
    )
    const id = slept.status?.worldId
    if (isOfOrganization()) {
      await eventually('it sleeps in REST', async () => {
        const { status } = (await inRest(id)) as WorldBody & { status: { idle?: object } }
        expect(status).toMatchObject({ phase: 'Stopped', idle: slept.status?.idle })
        return true
      })
    }

    world.edits({ state: 'Stopped' })
    const stopped = await world.shows('stopped', (each) => each.status?.idle === undefined && each)
    expect(stopped.status).toMatchObject({ phase: 'Stopped', run: { id: slept.status?.run?.id, endReason: 'Idle' } })
    world.edits({ state: 'Running' })
    const next = await world.shows('another run', ({ status }) => status?.runId !== slept.status?.runId && status)
    expect(next).toMatchObject({ phase: 'Starting' })
    expect(next).not.toHaveProperty('idle')
    await world.isActive()
    await world.isEmpty()
    expect((await world.read()).status?.run).not.toHaveProperty('endReason')
    if (!isOfOrganization()) return
    await eventually('two runs in REST', async () => {
      const runs = (await inRest(id, 'deployments/')) as { runId: string; endReason?: string; wokenBy?: string }[]
      expect(runs).toMatchObject([{ runId: slept.status?.runId, endReason: 'Idle' }, { runId: next.runId }])
      for (const run of runs) expect(run).not.toHaveProperty('wokenBy')
      return true
    })
  })

  test('keeps its time, and its sleep, over a restart of the operator', async () => {
    const [awake, asleep] = await Promise.all([
      aWorld({ ...place(), name: 'awake' }),
      aWorld({ ...place(), name: 'asleep' }),
    ])
    const idle = await awake.isEmpty()
    await asleep.isEmpty()
    asleep.isEmptyFor(11)
    const { status } = await asleep.isAsleep()
    await restartOperator()
    // The new operator has planned both once it has planned an edit of each.
    for (const world of [awake, asleep]) {
      world.edits({ displayName: 'After the restart' })
      await world.shows('the edit', (each) => each.status?.observedGeneration === each.metadata.generation)
    }
    expect((await awake.read()).status?.idle).toEqual(idle)
    const after = (await asleep.read()).status
    expect(after).toMatchObject({ phase: 'Stopped', runId: status?.runId, idle: status?.idle })
    expect(await asleep.pod.find()).toBeUndefined()
    awake.isEmptyFor(11)
    await awake.isAsleep()
  })

  test('follows edits of idleStopMinutes at once', async () => {
    const world = await aWorld({ ...place(), name: 'edited', idleStopMinutes: 60 })
    await world.isEmpty()
    world.isEmptyFor(30)
    const { since } = await world.shows('the time', ({ status }) => {
      const { idle } = status ?? {}
      return idle?.sleepsAt !== undefined && Date.parse(idle.sleepsAt) - Date.now() < 31 * 60_000 && idle
    })
    world.edits({ idleStopMinutes: null })
    await world.shows('no sleep', ({ status }) => status?.idle === undefined)
    world.edits({ idleStopMinutes: 60 })
    expect(Date.parse((await world.isEmpty()).since ?? '')).toBeGreaterThan(Date.parse(since ?? ''))
    world.isEmptyFor(30)
    world.edits({ idleStopMinutes: 20 })
    expect((await world.isAsleep()).status?.run?.endMessage).toBe('Nobody was in the world for 20 minutes.')
    const removed = await world.read()
    world.edits({ idleStopMinutes: null })
    await world.shows('the edit', (each) => each.status?.observedGeneration === each.metadata.generation)
    expect((await world.read()).status).toMatchObject({ phase: 'Stopped', runId: removed.status?.runId })
  })
})

test('another server of the same run begins the time anew', async () => {
  const world = await aWorld({ namespace: 'default', name: 'replaced' })
  await world.isEmpty()
  world.isEmptyFor(5)
  const isNew = ({ since = '' }: { since?: string } = {}) => Date.now() - Date.parse(since) < 4 * 60_000
  await world.shows('the time', ({ status }) => !isNew(status?.idle))
  const { uid } = (await world.pod.exists()).metadata
  await world.pod.hasStopped()
  await eventually('another pod', async () => ![uid, undefined].includes((await world.pod.find())?.metadata.uid))
  await world.isActive()
  await world.shows('a new time', ({ status }) => isNew(status?.idle))
  expect((await world.read()).status?.run?.id).toBe((await world.pod.exists()).metadata.labels?.['orrery.dev/run'])
})

test('bots keep their World awake until they are deleted', async () => {
  const world = await aWorld({ namespace: 'default', name: 'populated' })
  await cluster.transport.request({
    method: 'POST',
    path: '/apis/orrery.dev/v1alpha1/namespaces/default/botdeployments',
    body: {
      apiVersion: groupVersion,
      kind: 'BotDeployment',
      metadata: { name: 'crowd', namespace: 'default' },
      spec: { worldName: 'populated', count: 1 },
    },
  })
  await world.keptAwakeBy('Bots')
  await cluster.bots('default', 'crowd').are([0])
  cluster.kubectl('-n', 'default', 'delete', 'bots', 'crowd', '--wait=false')
  await world.isEmpty()
  world.isEmptyFor(11)
  await world.isAsleep()
})

test('a server that does not say its players keeps its World awake, with a condition that says what to do', async () => {
  const world = await aWorld({ namespace: 'default', name: 'silent' })
  await world.isEmpty()
  world.game.isAnswering = false
  await world.keptAwakeBy('UnknownCounts')
  const condition = () =>
    world.shows('the condition', ({ status }) => status?.conditions?.find(({ type }) => type === 'Idle'))
  expect(await condition()).toMatchObject({ status: 'Unknown', reason: 'UnknownCounts' })
  expect((await condition()).message).toContain('does not sleep')
  world.game.isAnswering = true
  await world.isEmpty()
  expect((await world.read()).status?.conditions?.map(({ type }) => type)).not.toContain('Idle')
})

test('the API server refuses a World that sleeps although nobody can count its players, and numbers that are no time', async () => {
  const create = (spec: object) =>
    cluster.worlds.create({
      apiVersion: groupVersion,
      kind: 'World',
      metadata: { namespace: 'default', name: 'refused' },
      spec: { state: 'Stopped', ...spec } as never,
    })
  await expect(create({ idleStopMinutes: 1, runtime: { probes: false } })).rejects.toThrow(idleRule.message)
  for (const idleStopMinutes of [0, 43_201, 1.5])
    await expect(create({ idleStopMinutes })).rejects.toThrow('idleStopMinutes')
  await expect(create({ wakeOnAccess: 'Always' })).rejects.toThrow('wakeOnAccess')
})
