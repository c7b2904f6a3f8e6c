import { execFileSync, spawn } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import { getServers } from '#test/support/servers.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

type Quota = { spec: { hard: Record<string, string> } }

const cluster = aCluster()
let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>

beforeAll(async () => {
  cluster.kubectl('create', 'configmap', 'orrery-scaling-profiles', '--from-literal=Capacity10=memoryLimit: 4Gi')
  const settings = { ORRERY_SCALING_PROFILES: 'default/orrery-scaling-profiles' }
  api = await startApi({ databaseUrl: await aDatabase(), settings })
  operator = await startOperator(settings)
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop()])
  cluster.kubectl('delete', 'configmap', 'orrery-scaling-profiles')
  await cluster.close()
})

const namespaceOf = ({ scope }: Tenant): string => `orrery-${scope.organizationId}`
const limit = ({ rest, scope }: Tenant, limits: object) =>
  rest.call<object>('PATCH', `/api/organizations/${scope.organizationId}/limits/`, limits)
/** Returns a tenant whose namespace exists, with a world. */
const aTenantWithWorld = async (limits: object = {}) => {
  const tenant = await aTenant(api.url)
  await limit(tenant, limits)
  const worldId = await tenant.world({ networking: { scaling: { profile: 'Capacity10' } } })
  const namespace = namespaceOf(tenant)
  await cluster.world(namespace, worldId).exists()
  return { tenant, worldId, namespace }
}
const hardOf = (namespace: string): Record<string, string> =>
  (JSON.parse(cluster.kubectl('-n', namespace, 'get', 'resourcequota', 'orrery', '-o', 'json')) as Quota).spec.hard
/** Watches the limit of pods in the quota. `seen` returns each version in a line. */
const watchPodLimits = (namespace: string) => {
  const args = ['-n', namespace, 'get', 'resourcequota', 'orrery', '--watch', '-o', 'jsonpath={.spec.hard.pods}{"\\n"}']
  const child = spawn(getServers().kubectl, ['--kubeconfig', getServers().adminKubeconfig, ...args])
  let output = ''
  child.stdout.on('data', (data) => (output += data))
  return { seen: () => output, stop: () => child.kill() }
}
/** Applies an object as the administrator. Returns what kubectl says of it. */
const apply = (object: object): string => {
  try {
    const args = ['--kubeconfig', getServers().adminKubeconfig, 'create', '-f', '-']
    const stdio: ['pipe', 'pipe', 'pipe'] = ['pipe', 'pipe', 'pipe']
    return execFileSync(getServers().kubectl, args, { input: JSON.stringify(object), encoding: 'utf8', stdio })
  } catch (error) {
    return (error as { stderr: string }).stderr
  }
}

describe('the namespace of an organization', () => {
  test('has the quota of its limits and of the profiles that the ConfigMap overrides', async () => {
    const { namespace } = await aTenantWithWorld({
      maxWorlds: 7,
      maxRunningCapacity: 100,
      maxWorldCapacity: 10,
      maxNodePorts: 40,
      maxLoadBalancers: 0,
      maxBotCpu: 10,
      maxBotMemory: 8 * 2 ** 30,
    })
    const hard = hardOf(namespace)
    expect(hard).toMatchObject({ 'count/worlds.orrery.dev': '7', 'count/botdeployments.orrery.dev': '1k' })
    expect(hard).toMatchObject({ 'services.nodeports': '56', 'services.loadbalancers': '0' })
    // Ten servers of 4Gi, bots of 8Gi, and room for one more server with a bot of its size.
    expect(hard['limits.memory']).toBe(`${40 + 8 + 4 + 4}Gi`)
    // Ten servers of 500m, bots of 10 cores, and a tenth more.
    expect(hard['limits.cpu']).toBe('16500m')
  })

  test('follows a change of the limits', async () => {
    const { tenant, namespace } = await aTenantWithWorld()
    await limit(tenant, { maxWorlds: 3 })
    await eventually('the quota', async () => hardOf(namespace)['count/worlds.orrery.dev'] === '3')
  })

  test('is not made by a change of the limits', async () => {
    const tenant = await aTenant(api.url)
    await limit(tenant, { maxWorlds: 3 })
    const other = await aTenantWithWorld()
    expect(other.namespace).not.toBe(namespaceOf(tenant))
    expect(cluster.kubectl('get', 'namespaces', '-o', 'name')).not.toContain(namespaceOf(tenant))
  })

  test('refuses a World by kubectl above maxWorlds, and a container larger than any profile', async () => {
    const { namespace } = await aTenantWithWorld({ maxWorlds: 1 })
    await cluster.quotaUses(namespace, 'orrery', {
      'count/worlds.orrery.dev': 1,
      'count/botdeployments.orrery.dev': 0,
      pods: 0,
      'limits.cpu': 0,
      'limits.memory': 0,
    })
    const world = { apiVersion: 'orrery.dev/v1alpha1', kind: 'World', metadata: { name: 'more', namespace }, spec: {} }
    expect(apply(world)).toContain('exceeded quota: orrery')
    const resources = { limits: { cpu: '96', memory: '900Gi' } }
    const securityContext = {
      allowPrivilegeEscalation: false,
      runAsNonRoot: true,
      capabilities: { drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    }
    const containers = [{ name: 'c', image: 'registry.example/c:1', resources, securityContext }]
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'big', namespace }, spec: { containers } }
    expect(apply(pod)).toContain('maximum cpu usage per Container')
  })
})

test('a quota that does not count worlds yet is recounted, and the world waits for that', async () => {
  const { tenant, namespace } = await aTenantWithWorld()
  const used = { 'count/botdeployments.orrery.dev': 0, pods: 0, 'limits.cpu': 0, 'limits.memory': 0 }
  // Read before the recount, which changes it for a moment.
  const limit = Number(hardOf(namespace).pods)
  const limits = watchPodLimits(namespace)
  await cluster.quotaUses(namespace, 'orrery', used)
  const worldId = await tenant.world()
  await eventually('two changes', async () => limits.seen().includes(`${limit + 1}\n${limit}\n`))
  limits.stop()
  await cluster.quotaUses(namespace, 'orrery', { ...used, 'count/worlds.orrery.dev': 1 })
  await cluster.world(namespace, worldId).exists()
})

test('refuses a Service by kubectl above maxLoadBalancers', async () => {
  const { namespace } = await aTenantWithWorld({ maxLoadBalancers: 0 })
  await cluster.quotaUses(namespace, 'orrery', { 'services.nodeports': 0, 'services.loadbalancers': 0 })
  const spec = { type: 'LoadBalancer', ports: [{ port: 7777 }] }
  const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'one-more', namespace }, spec }
  expect(apply(service)).toContain('exceeded quota: orrery')
})

test('a pod that the quota refuses is reported with a fixed message, is not counted as a restart, and starts once the quota has room', async () => {
  const { tenant, worldId, namespace } = await aTenantWithWorld()
  const used = {
    'count/worlds.orrery.dev': 1,
    'count/botdeployments.orrery.dev': 0,
    'limits.cpu': 0,
    'limits.memory': 0,
  }
  await cluster.quotaUses(namespace, 'orrery', { ...used, pods: 1_000_000 })
  await tenant.rest.call('POST', `/api/worlds/${worldId}/start/`)
  const refused = await eventually('the refusal', async () => {
    const { status } = await cluster.worlds.get({ namespace, name: worldId })
    return status?.conditions?.some(({ reason }) => reason === 'QuotaExceeded') ? status : undefined
  })
  expect(refused).toMatchObject({ phase: 'Starting', run: { restarts: 0 } })
  expect(refused.message).toBe(
    'The quota of the namespace has no room for the server. Stop other worlds or bots, or ask the platform operator.',
  )
  await cluster.quotaUses(namespace, 'orrery', { ...used, pods: 0 })
  await cluster.pod(namespace, worldId).exists()
  const { status } = await cluster.worlds.get({ namespace, name: worldId })
  expect(status?.run?.restarts).toBe(0)
})
