import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { World } from '#shared/resources/world.ts'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import { aTenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

type Condition = { type: string; status: string; reason: string; message: string }
type Shown = { status: { phase: string; message: string; runId?: string; conditions: Condition[] } }
type Deployment = { runId: string; status: string; endReason?: string }
type Answer = { code?: string; detail?: string }
type Usage = { maxRunningCapacity: { used: number; limit: number } }

const cluster = aCluster()
let databaseUrl: string
let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>
const nodeName = 'node-of-capacity'
const node = cluster.node(nodeName)
beforeAll(async () => {
  await node.joins()
  databaseUrl = await aDatabase()
  ;[api, operator] = await Promise.all([startApi({ databaseUrl }), startOperator()])
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop()])
  await node.isRemoved()
  await cluster.close()
})

/** Creates a tenant of which only worlds of that capacity may run together. Each of its worlds needs 30. */
const aTenantWithRoomFor = async (maxRunningCapacity: number) => {
  const tenant = await aTenant(api.url)
  const { organizationId } = tenant.scope
  const namespace = `orrery-${organizationId}`
  const limit = (most: number) =>
    tenant.rest.call<object>('PATCH', `/api/organizations/${organizationId}/limits/`, { maxRunningCapacity: most })
  await limit(maxRunningCapacity)
  const observe = (id: string, name = id) => {
    const pod = cluster.pod(namespace, name)
    const path = `/api/worlds/${id}/`
    const live = () => cluster.worlds.get({ namespace, name })
    const show = async () => (await tenant.rest.call<Shown>('GET', path)).body.status
    const call = async (verb: string) => (await tenant.rest.call<Answer>('POST', `${path}${verb}/`)).status
    return {
      id,
      pod,
      live,
      show,
      start: () => call('start'),
      stop: () => call('stop'),
      patch: async (body: object) => (await tenant.rest.call<object>('PATCH', path, body)).status,
      remove: async () => (await tenant.rest.call<object>('DELETE', path)).status,
      restore: async () => (await tenant.rest.call<object>('POST', `${path}restore/`)).status,
      deployments: async () => (await tenant.rest.call<Deployment[]>('GET', `${path}deployments/`)).body,
      /** Edits `spec.state` as kubectl does. */
      set: (state: 'Running' | 'Stopped') => cluster.worlds.patch({ namespace, name }, { spec: { state } }),
      becomesActive: async () => {
        await pod.exists()
        // The API server deletes a pod without a node at once.
        await pod.isPutOn(nodeName)
        await pod.becomesReady()
        await eventually(`${id} is Active`, async () => (await show()).phase === 'Active')
      },
      /** Waits until the server is being deleted, and plays its end. */
      drains: async () => {
        await eventually(
          `the server of ${id} stops`,
          async () => (await pod.find())?.metadata.deletionTimestamp !== undefined,
        )
        await pod.hasStopped()
      },
      /** Waits until the resource shows that the run has no room. Returns its status. */
      waits: () => eventually(`${id} waits for room`, async () => waitingStatus(await live())),
    }
  }
  const world = async () => {
    const id = await tenant.world()
    await cluster.world(namespace, id).exists()
    return observe(id)
  }
  const used = async () =>
    (await tenant.rest.call<Usage>('GET', '/api/organizations/current/usage/')).body.maxRunningCapacity.used
  return { tenant, namespace, limit, world, observe, used }
}

const isWaiting = ({ type, status, reason }: Condition): boolean =>
  type === 'Synced' && status === 'False' && reason === 'StartWaits'

const waitingStatus = ({ status }: World) => (status?.conditions?.some(isWaiting) ? status : undefined)

type Subject = ReturnType<Awaited<ReturnType<typeof aTenantWithRoomFor>>['observe']>
const haveServers = async (worlds: readonly Subject[]): Promise<Subject[]> => {
  const pods = await Promise.all(worlds.map(({ pod }) => pod.find()))
  return worlds.filter((_, at) => pods[at] !== undefined)
}

describe('starts with kubectl', () => {
  test('of several worlds at once begin as many runs as the limit allows, and the others when there is room', async () => {
    const { world, used } = await aTenantWithRoomFor(30)
    const worlds = [await world(), await world(), await world()]
    await Promise.all(worlds.map(({ set }) => set('Running')))
    await eventually('all but one wait', async () => {
      const statuses = await Promise.all(worlds.map(async ({ live }) => waitingStatus(await live())))
      return statuses.filter((status) => status !== undefined).length === 2
    })
    const running = await eventually('a server', async () => {
      const found = await haveServers(worlds)
      return found.length > 0 && found
    })
    expect(running).toHaveLength(1)
    for (const each of worlds.filter((one) => !running.includes(one))) {
      // The API may write its condition before the operator writes the first status.
      const status = await eventually('the status of the operator', async () => {
        const shown = await each.waits()
        return shown.phase !== undefined && shown
      })
      expect(status).toMatchObject({ phase: 'Inactive' })
      expect(status).not.toHaveProperty('run')
      await eventually('REST shows it', async () => (await each.show()).conditions.some(isWaiting))
      const shown = await each.show()
      expect(shown).toMatchObject({ phase: 'Inactive', message: expect.stringContaining('maxRunningCapacity') })
      expect(await each.deployments()).toEqual([])
    }
    await eventually('the use', async () => (await used()) === 30)
    for (let left = worlds; left.length > 0; ) {
      const [now, ...more] = await eventually('a server', async () => {
        const found = await haveServers(left)
        return found.length > 0 && found
      })
      expect(more).toEqual([])
      await now?.becomesActive()
      // The end of the run before may be recorded a moment after its server is gone.
      await eventually('the use', async () => (await used()) === 30)
      await now?.set('Stopped')
      await now?.drains()
      left = left.filter((each) => each !== now)
    }
    await eventually('no use', async () => (await used()) === 0)
  })

  test('that wait begin in the order in which they were refused, also one that has run before', async () => {
    const { world } = await aTenantWithRoomFor(30)
    const [first, second, third] = [await world(), await world(), await world()]
    await second.start()
    await second.becomesActive()
    await second.stop()
    await second.drains()
    await eventually('it is drained', async () => (await second.deployments())[0]?.status === 'Stopped')
    await first.set('Running')
    await first.becomesActive()
    await second.set('Running')
    expect(await second.waits()).toMatchObject({ phase: 'Stopped', run: { endReason: 'Stopped' } })
    await eventually('REST shows it', async () => (await second.show()).message.includes('maxRunningCapacity'))
    expect((await second.show()).phase).toBe('Stopped')
    expect(await second.deployments()).toHaveLength(1)
    await third.set('Running')
    await third.waits()
    await first.set('Stopped')
    await first.drains()
    await second.becomesActive()
    expect(await haveServers([first, third])).toEqual([])
    const [before, after] = await second.deployments()
    expect([before?.status, after?.status]).toEqual(['Stopped', 'Running'])
    await eventually('the run', async () => (await second.live()).spec.runId === after?.runId)
    expect((await second.show()).runId).toBe(after?.runId)
    await second.stop()
    await second.drains()
    await third.becomesActive()
  })

  test('keep waiting when another API and another operator take over, and begin when the limit is raised', async () => {
    const { world, limit } = await aTenantWithRoomFor(30)
    const [first, second] = [await world(), await world()]
    await first.set('Running')
    await first.becomesActive()
    await second.set('Running')
    await second.waits()
    await Promise.all([api.stop(), operator.stop()])
    const port = Number(new URL(api.url).port)
    ;[api, operator] = await Promise.all([startApi({ databaseUrl, port }), startOperator()])
    const third = await world()
    await third.set('Running')
    await third.waits()
    expect(await haveServers([second, third])).toEqual([])
    await limit(60)
    await eventually('one of them runs', async () => (await haveServers([second, third])).length === 1)
  })

  test('of new resources are adopted and wait', async () => {
    const { tenant, namespace, world, observe, used } = await aTenantWithRoomFor(30)
    const first = await world()
    await first.start()
    await first.becomesActive()
    const metadata = { name: 'by-hand', namespace }
    const spec = { state: 'Running' }
    await cluster.worlds.create({ apiVersion: 'orrery.dev/v1alpha1', kind: 'World', metadata, spec })
    const id = await eventually('its adoption', async () => (await cluster.worlds.get(metadata)).status?.worldId)
    const scoped = await eventually('its project', async () => {
      const { metadata: adopted } = await cluster.worlds.get(metadata)
      return adopted.labels?.['orrery.dev/project']
    })
    const byHand = observe(id, 'by-hand')
    await byHand.waits()
    await eventually('its phase', async () => (await cluster.worlds.get(metadata)).status?.phase === 'Inactive')
    const project = { 'x-svc-project-id': scoped }
    const show = () => tenant.rest.call<Shown>('GET', `/api/worlds/${id}/`, undefined, project)
    await eventually('REST shows it', async () => (await show()).body.status.message.includes('maxRunningCapacity'))
    expect((await show()).body.status.phase).toBe('Inactive')
    expect(await used()).toBe(30)
    await first.remove()
    await first.drains()
    await byHand.pod.exists()
  })
})

test('a World that the API does not adopt runs nothing', async () => {
  const { namespace, world } = await aTenantWithRoomFor(30)
  await world()
  const metadata = { name: 'foreign', namespace, labels: { 'orrery.dev/project': 'prj-unknown' } }
  const spec = { state: 'Running' }
  await cluster.worlds.create({ apiVersion: 'orrery.dev/v1alpha1', kind: 'World', metadata, spec })
  const { status } = await eventually('both say why', async () => {
    const live = await cluster.worlds.get(metadata)
    return live.status?.message !== undefined && (live.status.conditions?.length ?? 0) > 1 && live
  })
  expect(status?.message).toContain('Waiting for the API')
  expect(await cluster.pod(namespace, 'foreign').find()).toBeUndefined()
})

describe('starts over REST', () => {
  test('are refused until the server of a stopped world is gone', async () => {
    const { world, used } = await aTenantWithRoomFor(30)
    const [first, second] = [await world(), await world()]
    expect(await first.start()).toBe(200)
    await first.becomesActive()
    expect(await second.start()).toBe(409)
    await first.stop()
    await eventually('it stops', async () => (await first.deployments())[0]?.status === 'Stopping')
    expect([await second.start(), await used()]).toEqual([409, 30])
    await first.drains()
    await eventually('there is room', async () => (await used()) === 0)
    expect(await second.start()).toBe(200)
  })

  test('are refused until the server of a deleted world is gone, which no answer shows', async () => {
    const { world, used } = await aTenantWithRoomFor(30)
    const [first, second] = [await world(), await world()]
    await first.start()
    await first.becomesActive()
    expect(await first.remove()).toBe(200)
    expect([await second.start(), await used()]).toEqual([409, 30])
    await first.drains()
    await eventually('there is room', async () => (await used()) === 0)
    expect(await second.start()).toBe(200)
    await eventually('a restore', async () => (await first.restore()) === 204)
    expect([(await first.show()).phase, await first.start()]).toEqual(['Inactive', 409])
  })

  test('have the room of a deleted world whose resource vanished before anyone reported its end', async () => {
    const { namespace, world, used } = await aTenantWithRoomFor(30)
    const first = await world()
    await first.start()
    await first.becomesActive()
    await operator.stop()
    try {
      await first.remove()
      await eventually('its deletion', async () => (await first.live()).metadata.deletionTimestamp !== undefined)
      await cluster.worlds.patch({ namespace, name: first.id }, { metadata: { finalizers: null } })
      await eventually('there is room', async () => (await used()) === 0)
    } finally {
      operator = await startOperator()
    }
  })

  test('replace the run of a world, whose use counts for others until its server is gone', async () => {
    const { world, used } = await aTenantWithRoomFor(30)
    const [first, second] = [await world(), await world()]
    await first.start()
    await first.becomesActive()
    const before = await first.pod.exists()
    expect(await first.start()).toBe(200)
    await first.drains()
    await eventually('the next server', async () => {
      const found = await first.pod.find()
      return found !== undefined && found.metadata.uid !== before.metadata.uid
    })
    await first.becomesActive()
    expect([await second.start(), await used()]).toEqual([409, 30])
  })

  test('count a changed capacity from the next start on', async () => {
    const { world, used } = await aTenantWithRoomFor(60)
    const [first, second] = [await world(), await world()]
    for (const each of [first, second]) expect(await each.start()).toBe(200)
    for (const each of [first, second]) await each.becomesActive()
    const networking = { strategy: 'Default', scaling: { profile: 'Capacity60' } }
    expect([await first.patch({ networking }), await used()]).toEqual([200, 60])
    expect(await first.start()).toBe(409)
    await second.stop()
    await second.drains()
    await eventually('there is room', async () => (await used()) === 30)
    expect(await first.start()).toBe(200)
  })

  test('in bulk begin as many runs as the limit allows', async () => {
    const { tenant, world, used } = await aTenantWithRoomFor(60)
    const worlds = [await world(), await world(), await world()]
    type Bulk = { results: { status: number }[] }
    const body = { action: 'start', ids: worlds.map(({ id }) => id) }
    const { results } = (await tenant.rest.call<Bulk>('POST', '/api/worlds/actions/', body)).body
    expect(results.map(({ status }) => status).sort()).toEqual([200, 200, 409])
    expect(await used()).toBe(60)
  })
})
