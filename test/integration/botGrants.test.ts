import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Pod } from '#operator/pods/pod.ts'
import { groupVersion, labels } from '#shared/resources/group.ts'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import { aTenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

// The bots that the API grants bound those that run, through each door.

const cluster = aCluster()
let databaseUrl: string
let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>

beforeAll(async () => {
  databaseUrl = await aDatabase()
  ;[api, operator] = await Promise.all([startApi({ databaseUrl }), startOperator()])
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop()])
  await cluster.close()
})

const restartApi = () => startApi({ databaseUrl, port: Number(new URL(api.url).port) })

/** An Active world of the smallest profile with two bots, and the limit of three of the organization. */
const anActiveWorld = async ({ count = 2 } = {}) => {
  const tenant = await aTenant(api.url)
  const { call } = tenant.rest
  const namespace = `orrery-${tenant.scope.organizationId}`
  const limits = `/api/organizations/${tenant.scope.organizationId}/limits/`
  expect((await call('PATCH', limits, { maxBotCpu: 0.3 })).status).toBe(200)
  const worldId = await tenant.world({ networking: { strategy: 'Default', scaling: { profile: 'Capacity10' } } })
  const path = `/api/worlds/${worldId}/bots/`
  const made = await call('POST', path, { count })
  const name = made.headers.get('location')?.split('/').at(-2) ?? ''
  const start = async () => {
    expect((await call('POST', `/api/worlds/${worldId}/start/`)).status).toBe(200)
    await cluster.pod(namespace, worldId).exists()
    await cluster.pod(namespace, worldId).becomesReady()
  }
  await start()
  const bots = cluster.bots(namespace, name)
  await bots.are(Array.from({ length: count }, (_, index) => index))
  return { ...tenant, call, start, namespace, worldId, path, name, bots, live: cluster.botDeployment(namespace, name) }
}

const scale = (namespace: string, name: string, count: number): void => {
  cluster.kubectl('-n', namespace, 'scale', 'botdeployment', name, `--replicas=${count}`)
}

const hasCondition = (
  { exists }: ReturnType<typeof cluster.botDeployment>,
  type: string,
  wanted: { readonly reason: string; readonly message?: string },
) =>
  eventually(`${type} ${wanted.reason}`, async () => {
    const { status } = await exists()
    const found = status?.conditions?.find((each) => each.type === type)
    return found?.reason === wanted.reason && (wanted.message === undefined || found.message === wanted.message)
  })

/** Returns the names of the pods that were created in a namespace since a version, also of those that are gone. */
const createdSince = async (namespace: string, resourceVersion: string): Promise<string[]> => {
  const { signal } = new AbortController()
  const events = cluster.pods.watch({ namespace, resourceVersion, timeoutSeconds: 1, signal, idleTimeoutMs: 10_000 })
  const created: string[] = []
  for await (const event of events) {
    const { type, object } = event as { type: string; object: Pod }
    if (type === 'ADDED') created.push(object.metadata.name)
  }
  return created.sort()
}

const versionOf = async (namespace: string): Promise<string> => {
  const { resourceVersion } = await cluster.pods.list({ namespace })
  return resourceVersion
}

test('a scale with kubectl beyond the limit makes no bot at any time, and one within it makes them', async () => {
  const { namespace, name, live, bots } = await anActiveWorld()
  const version = await versionOf(namespace)
  scale(namespace, name, 5)
  await hasCondition(live, 'Synced', { reason: 'EditRefused' })
  await eventually('the count is put back', async () => (await live.exists()).spec.count === 2)
  await hasCondition(live, 'Progressing', { reason: 'Starting' })
  expect(await createdSince(namespace, version)).toEqual([])
  scale(namespace, name, 3)
  await bots.are([0, 1, 2])
  expect(await createdSince(namespace, version)).toEqual([`${name}-2`])
})

test('without the API, a scale down acts and a scale up waits', async () => {
  const { namespace, worldId, name, live, bots } = await anActiveWorld()
  await api.stop()
  const version = await versionOf(namespace)
  scale(namespace, name, 3)
  await hasCondition(live, 'Progressing', {
    reason: 'WaitingForApi',
    message: '2 of 3 bots are confirmed by the API.',
  })
  await cluster.transport.request({
    method: 'POST',
    path: `/apis/${groupVersion}/namespaces/${namespace}/botdeployments`,
    body: {
      apiVersion: groupVersion,
      kind: 'BotDeployment',
      metadata: { namespace, name: 'late' },
      spec: { worldName: worldId, count: 1 },
    },
  })
  const late = cluster.botDeployment(namespace, 'late')
  await hasCondition(late, 'Progressing', {
    reason: 'WaitingForApi',
    message: 'Waiting for the API to confirm the bots.',
  })
  expect((await late.exists()).status).toMatchObject({ phase: 'Pending', replicas: 0 })
  scale(namespace, name, 1)
  await bots.are([0])
  expect(await createdSince(namespace, version)).toEqual([])
  api = await restartApi()
  await cluster.bots(namespace, 'late').are([0])
  scale(namespace, name, 2)
  await bots.are([0, 1])
})

test('forged labels and an edited size change nothing in the pod of a bot', async () => {
  const { namespace, worldId, name, bots, scope } = await anActiveWorld({ count: 1 })
  await api.stop()
  const forged = 'org-00000000000000000000000001'
  for (const [kind, each] of [
    ['world', worldId],
    ['botdeployment', name],
  ] as const) {
    const marks = [labels.organization, labels.project, labels.worldId, labels.botDeploymentId]
    const edits = marks.map((label) => `${label}=${forged}`)
    cluster.kubectl('-n', namespace, 'label', kind, each, '--overwrite', ...edits)
  }
  const size = '{"spec":{"cpu":"50m","memory":"64Mi","args":["--own"]}}'
  cluster.kubectl('-n', namespace, 'patch', 'botdeployment', name, '--type=merge', '-p', size)
  const before = await bots.pod(0).exists()
  await bots.pod(0).hasStopped()
  const pod = await eventually('another pod', async () => {
    const now = await bots.pod(0).find()
    return now !== undefined && now.metadata.uid !== before.metadata.uid && now
  })
  const [container] = pod.spec?.containers ?? []
  expect(JSON.stringify(pod)).not.toContain(forged)
  expect(pod.metadata.labels).toMatchObject({
    [labels.organization]: scope.organizationId,
    [labels.project]: scope.projectId,
    [labels.worldId]: worldId,
    [labels.botDeploymentId]: name,
  })
  expect(JSON.stringify(container)).not.toContain('--own')
  expect(container).toMatchObject({ resources: { limits: { cpu: '100m', memory: '128Mi' } } })
  const { env } = container as { env?: { name: string; value: string }[] }
  for (const [variable, value] of Object.entries({
    ORRERY_ORGANIZATION_ID: scope.organizationId,
    ORRERY_PROJECT_ID: scope.projectId,
    ORRERY_WORLD_ID: worldId,
    ORRERY_BOT_DEPLOYMENT_ID: name,
  })) {
    expect(env).toContainEqual({ name: variable, value })
  }
  api = await restartApi()
})

test('a BotDeployment that replaces another one runs nothing before the API has granted it bots', async () => {
  const { namespace, name, bots, live } = await anActiveWorld()
  const { metadata, ...first } = await live.exists()
  await api.stop()
  await cluster.botDeployment(namespace, name).exists()
  cluster.kubectl(
    '-n',
    namespace,
    'patch',
    'botdeployment',
    name,
    '--type=merge',
    '-p',
    '{"metadata":{"finalizers":null}}',
  )
  cluster.kubectl('-n', namespace, 'delete', 'botdeployment', name)
  await bots.are([])
  const version = await versionOf(namespace)
  const { name: _, uid, resourceVersion, creationTimestamp, generation, ...kept } = metadata
  await cluster.transport.request({
    method: 'POST',
    path: `/apis/${groupVersion}/namespaces/${namespace}/botdeployments`,
    body: { ...first, metadata: { ...kept, name } },
  })
  await hasCondition(live, 'Progressing', { reason: 'WaitingForApi' })
  expect(await createdSince(namespace, version)).toEqual([])
  api = await restartApi()
  await bots.are([0, 1])
  const granted = (await live.exists()).spec.granted
  expect([granted?.uid, uid]).toEqual([(await live.exists()).metadata.uid, uid])
})

test('all bots of a closed namespace stop, also paused ones', async () => {
  const { namespace, name, bots, live } = await anActiveWorld()
  cluster.kubectl('-n', namespace, 'annotate', 'botdeployment', name, 'orrery.dev/paused=true')
  await hasCondition(live, 'Progressing', { reason: 'Paused' })
  await api.stop()
  cluster.kubectl('annotate', '--overwrite', 'namespace', namespace, 'orrery.dev/closed=true')
  await bots.are([])
  await hasCondition(live, 'Ready', {
    reason: 'OrganizationDeleted',
    message: 'The organization was deleted. Its bots do not run.',
  })
  api = await restartApi()
})

test('bots that have ended with their world count in the limits, because its next run starts them', async () => {
  const { call, path, worldId, bots, start } = await anActiveWorld()
  expect((await call('POST', `/api/worlds/${worldId}/stop/`)).status).toBe(200)
  await bots.are([])
  await eventually('they are Stopped', async () => {
    const { body } = await call<{ status: { phase: string } }[]>('GET', path)
    return body.every(({ status }) => status.phase === 'Stopped')
  })
  expect((await call('POST', path, { count: 2 })).status).toBe(409)
  expect((await call('POST', path, { count: 1 })).status).toBe(200)
  await start()
  await bots.are([0, 1])
})
