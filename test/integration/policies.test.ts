import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

type Problem = { code?: string; detail?: string }

const cluster = aCluster()
let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>
/** Kubernetes before 1.33 drops this field of a pod. */
let hostUsers: { hostUsers?: false }

beforeAll(async () => {
  const version = await cluster.transport.request<{ minor: string }>({ method: 'GET', path: '/version' })
  hostUsers = Number.parseInt(version.minor, 10) < 33 ? {} : { hostUsers: false }
  const settings = { ORRERY_IMAGE_REGISTRIES: 'registry.example' }
  api = await startApi({ databaseUrl: await aDatabase(), settings })
  operator = await startOperator({
    ...settings,
    ORRERY_HOST_USERS: 'false',
    ORRERY_IMAGE_PULL_POLICY: 'IfNotPresent',
    ORRERY_PLACEMENT: JSON.stringify([{ group: 'staging', runtimeClassName: 'sandboxed' }]),
  })
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop()])
  await cluster.close()
})

const limit = ({ rest, scope }: Tenant, limits: object) =>
  rest.call<object>('PATCH', `/api/organizations/${scope.organizationId}/limits/`, limits)
const putBuild = ({ rest }: Tenant, image: string) =>
  rest.call<Problem>('PUT', '/api/builds/main/stable/', { image, contentId: 'c' })
/** Returns a tenant with a World that kubectl made and started in its namespace. */
const aWorldByKubectl = async (spec: object, limits: object = {}) => {
  const tenant = await aTenant(api.url)
  await limit(tenant, limits)
  const namespace = `orrery-${tenant.scope.organizationId}`
  await cluster.world(namespace, await tenant.world()).exists()
  const metadata = { name: 'by-hand', namespace }
  await cluster.worlds.create({
    apiVersion: 'orrery.dev/v1alpha1',
    kind: 'World',
    metadata,
    spec: { state: 'Running', ...spec },
  })
  const refusal = (type: 'Synced' | 'Degraded', reason: string) =>
    eventually(reason, async () => {
      const { status } = await cluster.worlds.get(metadata)
      return status?.conditions?.find((each) => each.type === type && each.reason === reason)
    })
  return { tenant, namespace, refusal, pod: cluster.pod(namespace, 'by-hand') }
}

describe('an image', () => {
  test.each(['10.0.0.1:5000/a', '127.0.0.1/a', 'localhost:5000/a', '169.254.169.254/a', 'ghcr.io/acme/a', 'nginx'])(
    '%s is refused with 403 in a build',
    async (image) => {
      const { status, body } = await putBuild(await aTenant(api.url), image)
      expect([status, body.code]).toEqual([403, 'image_not_allowed'])
    },
  )

  test('of the registries of its organization is accepted, of those alone, and of one tenant alone', async () => {
    const tenant = await aTenant(api.url)
    await limit(tenant, { imageRegistries: ['ghcr.io/acme'] })
    expect((await putBuild(tenant, 'ghcr.io/acme/a')).status).toBe(200)
    expect((await putBuild(tenant, 'registry.example/a')).status).toBe(403)
    expect((await putBuild(await aTenant(api.url), 'ghcr.io/acme/a')).status).toBe(403)
  })

  test('that is not allowed does not start by kubectl, and starts once it is allowed', async () => {
    const world = await aWorldByKubectl({ runtime: { image: 'ghcr.io/secret-name/a:1' } })
    expect((await world.refusal('Synced', 'NotAdopted')).message).toContain('is not from an allowed registry')
    expect(await world.pod.find()).toBeUndefined()
    await limit(world.tenant, { imageRegistries: ['ghcr.io'], imagePullSecrets: ['acme'] })
    const { spec } = (await world.pod.exists()) as { spec?: object }
    expect(spec).toMatchObject({
      imagePullSecrets: [{ name: 'acme' }],
      ...hostUsers,
      serviceAccountName: 'orrery-pods',
      automountServiceAccountToken: false,
      containers: [
        {
          imagePullPolicy: 'IfNotPresent',
          resources: { limits: { 'ephemeral-storage': '512Mi' }, requests: { 'ephemeral-storage': '0' } },
        },
      ],
    })
  })
})

test('a server of a placement with a RuntimeClass is admitted once the cluster has the class, with its overhead', async () => {
  const world = await aWorldByKubectl({
    runtime: { image: 'registry.example/a:1' },
    compute: { group: 'staging', region: 'Europe' },
  })
  const { message } = await world.refusal('Degraded', 'Refused')
  expect(message).toContain('The API server refused the server')
  expect(await world.pod.find()).toBeUndefined()
  await cluster.transport.request({
    method: 'POST',
    path: '/apis/node.k8s.io/v1/runtimeclasses',
    body: {
      apiVersion: 'node.k8s.io/v1',
      kind: 'RuntimeClass',
      metadata: { name: 'sandboxed' },
      handler: 'sandboxed',
      overhead: { podFixed: { memory: '64Mi' } },
      scheduling: { nodeSelector: { sandboxed: 'yes' } },
    },
  })
  const { spec } = (await world.pod.exists()) as { spec?: object }
  expect(spec).toMatchObject({
    runtimeClassName: 'sandboxed',
    overhead: { memory: '64Mi' },
    nodeSelector: { sandboxed: 'yes' },
    ...hostUsers,
  })
  const other = await aWorldByKubectl({ runtime: { image: 'registry.example/a:1' } })
  expect((await other.pod.exists()).spec).not.toHaveProperty('runtimeClassName')
})

describe('a start by kubectl', () => {
  test.each([
    ['maxWorldCapacity', { maxWorldCapacity: 30 }, {}, 'NotAdopted'],
    ['maxRunningCapacity', { maxRunningCapacity: 50 }, {}, 'StartWaits'],
    ['maxNodePorts', { maxNodePorts: 1 }, { networking: { strategy: 'NodePort' } }, 'StartWaits'],
    ['maxLoadBalancers', { maxLoadBalancers: 0 }, { networking: { strategy: 'LoadBalancer' } }, 'StartWaits'],
  ])('above %s creates no pod', async (limit, limits, spec, reason) => {
    const world = await aWorldByKubectl({ scaling: { profile: 'Capacity60' }, ...spec }, limits)
    expect((await world.refusal('Synced', reason)).message).toContain(limit)
    expect(await world.pod.find()).toBeUndefined()
  })
})
