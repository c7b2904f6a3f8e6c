import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import { openSocket } from '#test/support/socket.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>
let tenant: Tenant
const cluster = aCluster()
beforeAll(async () => {
  ;[api, operator] = await Promise.all([aDatabase().then((databaseUrl) => startApi({ databaseUrl })), startOperator()])
  tenant = await aTenant(api.url)
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop(), cluster.close()])
})

type Event = { id: string; createdAt: string; type: string; reason: string; message: string; remedy?: string }
type Condition = { type: string; status: string; reason: string; message: string; remedy?: string }
type Status = { phase: string; runId: string; conditions: Condition[] }

const read = async <T>(path: string): Promise<T> => (await tenant.rest.call<T>('GET', path)).body
const post = (worldId: string, verb: 'start' | 'stop') => tenant.rest.call('POST', `/api/worlds/${worldId}/${verb}/`)
const podOf = (worldId: string) => cluster.pod(`orrery-${tenant.scope.organizationId}`, worldId)
const statusOf = async (worldId: string) => (await read<{ status: Status }>(`/api/worlds/${worldId}/`)).status
const conditionOf = async (worldId: string, type: string) =>
  (await statusOf(worldId)).conditions.find((each) => each.type === type)
const eventsOf = (worldId: string) => read<Event[]>(`/api/worlds/${worldId}/events/`)
const summaryOf = async (worldId: string) => (await eventsOf(worldId)).map(({ type, reason }) => `${type} ${reason}`)
const hears = (worldId: string, reason: string) =>
  eventually(`the event ${reason}`, async () => (await eventsOf(worldId)).find((each) => each.reason === reason))

describe('a world', () => {
  test('has conditions with a remedy, and events of its starts, restarts and ends', async () => {
    const id = await tenant.world()
    expect(await eventsOf(id)).toEqual([])
    // The operator may have reported on the world already.
    const conditions = (await statusOf(id)).conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`)
    const reported = ['Degraded False AsExpected', 'Progressing False NeverStarted', 'Ready False NeverStarted']
    expect([[], reported]).toContainEqual(conditions)
    const socket = await openSocket(api.url, tenant.scope)
    socket.subscribe('world', id)
    await post(id, 'start')
    expect(await conditionOf(id, 'Ready')).toMatchObject({ status: 'False', reason: 'Starting' })
    const { runId } = await statusOf(id)
    await podOf(id).exists()
    await podOf(id).becomesReady({ ip: '10.1.2.3' })
    expect(await hears(id, 'Ready')).toMatchObject({ message: 'The server is ready at 10.1.2.3:7777.', runId })
    expect(await conditionOf(id, 'Ready')).toMatchObject({
      status: 'True',
      lastTransitionAt: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
    })
    await socket.hears('the condition', ({ data }) => JSON.stringify(data).includes('"ServerReady"'))

    await podOf(id).exits(3)
    const failure = {
      type: 'Warning',
      message: 'Restart 1 of 3: the server failed with exit code 3.',
      remedy: 'Check the log of the server.',
    }
    expect(await hears(id, 'ServerFailed')).toMatchObject(failure)
    expect(await conditionOf(id, 'Degraded')).toMatchObject({ status: 'True', remedy: failure.remedy })

    await post(id, 'start')
    expect((await eventsOf(id))[0]).toMatchObject({ reason: 'Restarted', message: expect.stringContaining(runId) })
    await post(id, 'stop')
    await post(id, 'stop')
    expect(await conditionOf(id, 'Ready')).toMatchObject({ status: 'False', reason: 'Stopped' })
    expect(await summaryOf(id)).toEqual([
      'Normal Stopped',
      'Normal Restarted',
      'Warning ServerFailed',
      'Normal Ready',
      'Normal Started',
    ])
    socket.terminate()
  })

  test('shows fixed sentences, and never the words of the kubelet', async () => {
    const id = await tenant.world()
    await post(id, 'start')
    await podOf(id).exists()
    await podOf(id).cannotPullItsImage('failed to pull registry.internal/secret:1: 401')
    expect(await hears(id, 'ImagePullFailed')).toMatchObject({ type: 'Warning', remedy: expect.any(String) })
    expect(JSON.stringify([await eventsOf(id), await statusOf(id)])).not.toMatch(/registry\.internal|401|secret/)
    await post(id, 'stop')
  })

  test('keeps its newest 100 events, in pages, until it is deleted', async () => {
    const id = await tenant.world()
    for (let at = 0; at < 105; at += 1) await post(id, 'start')
    const all = await eventsOf(id)
    expect(all).toHaveLength(100)
    expect(all.map((event) => event.id)).toEqual(
      all
        .map((event) => event.id)
        .toSorted()
        .toReversed(),
    )
    const first = await tenant.rest.call<Event[]>('GET', `/api/worlds/${id}/events/?limit=60`)
    const [, next = ''] = /<([^>]*)>/.exec(first.headers.get('link') ?? '') ?? []
    expect([...first.body, ...(await read<Event[]>(next))].map((event) => event.id)).toEqual(
      all.map((event) => event.id),
    )
    await tenant.rest.call('DELETE', `/api/worlds/${id}/`)
    expect((await tenant.rest.call('GET', `/api/worlds/${id}/events/`)).status).toBe(404)
  })
})

test('bots have conditions and events, without those of other bots', async () => {
  const worldId = await tenant.world()
  const bots = `/api/worlds/${worldId}/bots/`
  const paths: string[] = []
  for (const count of [1, 0]) {
    paths.push((await tenant.rest.call('POST', bots, { count })).headers.get('location') ?? '')
  }
  const [path = '', other = ''] = paths
  await post(worldId, 'start')
  await podOf(worldId).exists()
  await podOf(worldId).becomesReady()
  const ofBots = cluster.bots(`orrery-${tenant.scope.organizationId}`, path.split('/').at(-2) ?? '')
  await ofBots.are([0])
  await ofBots.becomeReady()
  const event = await eventually('the event Ready', async () =>
    (await read<Event[]>(`${path}events/`)).find(({ reason }) => reason === 'Ready'),
  )
  expect(event).toMatchObject({ type: 'Normal', message: '1 bot is ready.', runId: expect.stringMatching(/^run-/) })
  const { status } = await read<{ status: Status }>(path)
  expect(status.conditions.map(({ type }) => type)).toEqual(['Degraded', 'LimitExceeded', 'Progressing', 'Ready'])
  expect((await read<Event[]>(`${other}events/`)).map(({ id }) => id)).not.toContain(event.id)
  await tenant.rest.call('DELETE', path)
  expect((await tenant.rest.call('GET', `${path}events/`)).status).toBe(404)
  await post(worldId, 'stop')
})
