import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Pod } from '#operator/pods/pod.ts'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import type { WorldBody } from '#test/support/rest.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

// The admission policy of the cluster allows 7000-8000.
const settings = { ORRERY_HOST_PORTS: 'default=7000-7007,static=7100' }
const node = 'host-ports-1'
const host = '192.168.7.1'

const cluster = aCluster()
let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>
let tenant: Tenant
let scheduler: ReturnType<typeof aScheduler>

/** A scheduler of one node. As kube-scheduler does, it refuses a pod a port that a pod on the node has. */
const aScheduler = () => {
  const stop = new AbortController()
  // Each world of this file uses a number for its protocols alone.
  const portsOf = ({ spec }: Pod): number[] =>
    (spec?.containers ?? []).flatMap(({ ports = [] }) => ports.flatMap(({ hostPort }) => hostPort ?? []))
  const hasFailed = ({ status }: Pod) =>
    status?.conditions?.some(({ type, status: is }) => type === 'PodScheduled' && is === 'False')
  const round = async () => {
    const { items } = await cluster.pods.list({ namespace: namespaceOf() })
    const placed = items.filter(({ spec }) => spec?.nodeName === node)
    const taken = new Set(placed.filter(({ status }) => status?.phase !== 'Failed').flatMap(portsOf))
    for (const pod of items.filter(({ spec }) => spec?.nodeName === undefined)) {
      const seen = cluster.pod(namespaceOf(), pod.metadata.name)
      if (portsOf(pod).some((port) => taken.has(port))) {
        if (!hasFailed(pod))
          await seen.fitsNowhere("0/1 nodes are available: 1 node(s) didn't have free ports.").catch(() => 0)
        continue
      }
      for (const port of portsOf(pod)) taken.add(port)
      // The operator may have replaced it.
      await seen.isPutOn(node).then(
        () => seen.becomesReady(),
        () => undefined,
      )
    }
    return stop.signal.aborted
  }
  const running = eventually('the end of the scheduler', round, { timeoutMs: 600_000 })
  return {
    stop: async () => {
      stop.abort()
      await running
    },
  }
}

beforeAll(async () => {
  ;[api, operator] = await Promise.all([
    startApi({ databaseUrl: await aDatabase(), settings }),
    startOperator(settings),
  ])
  await cluster.node(node).joins()
  tenant = await aTenant(api.url)
  await tenant.rest.call('PATCH', `/api/organizations/${tenant.scope.organizationId}/limits/`, { hostPorts: true })
  scheduler = aScheduler()
})
afterAll(async () => {
  await scheduler?.stop()
  await Promise.all([api?.stop(), operator?.stop()])
  await cluster.node(node).isRemoved()
  await cluster.close()
})

type Shown = WorldBody & { status: { addresses?: { name: string; host: string; port: number }[] } }
type Problem = { code?: string; detail?: string }
const namespaceOf = () => `orrery-${tenant.scope.organizationId}`
const networking = (...ports: object[]) => ({ strategy: 'HostPort', ...(ports.length === 0 ? {} : { ports }) })
const fixed = { name: 'game', containerPort: 9000, policy: 'Static', hostPort: 7100 }
const act = (of: Tenant, id: string, verb: 'start' | 'stop') =>
  of.rest.call<Problem>('POST', `/api/worlds/${id}/${verb}/`)
/** Creates and starts a world. */
const start = async (...ports: object[]) => {
  const id = await tenant.world({ networking: networking(...ports) })
  expect((await act(tenant, id, 'start')).status).toBeLessThan(300)
  return id
}
const stop = async (id: string) => {
  await act(tenant, id, 'stop')
  // The kubelet ends the pod.
  await eventually(
    'the end of the server',
    async () => (await cluster.pod(namespaceOf(), id).find())?.metadata.deletionTimestamp,
  )
  await cluster.pod(namespaceOf(), id).hasStopped()
}
const isActive = (id: string) =>
  eventually(
    `${id} is Active`,
    async () => {
      const { phase, addresses } = (await tenant.rest.call<Shown>('GET', `/api/worlds/${id}/`)).body.status
      return phase === 'Active' && addresses
    },
    { timeoutMs: 60_000 },
  )
const has = (id: string, reason: string) =>
  eventually(
    reason,
    async () => {
      const { status } = await cluster.worlds.get({ namespace: namespaceOf(), name: id })
      return status?.conditions?.some((each) => each.type === 'Degraded' && each.reason === reason) && status
    },
    { timeoutMs: 90_000 },
  )

test('an organization without host ports cannot start a world with them, over REST or with kubectl', async () => {
  const other = await aTenant(api.url)
  const id = await other.world({ networking: networking() })
  const { status, body } = await act(other, id, 'start')
  expect([status, body.code]).toEqual([403, 'host_port_not_allowed'])
  const resource = { namespace: `orrery-${other.scope.organizationId}`, name: id }
  await cluster.world(resource.namespace, id).exists()
  await cluster.worlds.patch(resource, { spec: { state: 'Running' } })
  await eventually('the start is put back', async () => {
    const { spec, status: seen } = await cluster.worlds.get(resource)
    const synced = seen?.conditions?.find(({ type }) => type === 'Synced')
    return spec.state === 'Stopped' && synced?.message?.includes('limit hostPorts')
  })
})

test.each([
  ['a range of the platform', { name: 'game', containerPort: 9000, range: 'other' }, /range other of port game/i],
  ['a static port of the platform', { ...fixed, hostPort: 7000 }, /host port 7000 of port game/i],
  ['a port with Static', { name: 'game', containerPort: 9000, policy: 'Static' }, /hostPort with the policy Static/],
])('a port needs %s: 400 over REST, and an edit with kubectl is put back or refused', async (_, port, message) => {
  const id = await tenant.world()
  const patch = { networking: { ...networking(port), scaling: { profile: 'Capacity10', configuration: null } } }
  const { status, body } = await tenant.rest.call<Problem>('PATCH', `/api/worlds/${id}/`, patch)
  expect(status).toBe(400)
  expect(JSON.stringify(body)).toMatch(message)
  const resource = { namespace: namespaceOf(), name: id }
  await cluster.world(namespaceOf(), id).exists()
  const edit = cluster.worlds.patch(resource, { spec: { networking: networking(port) } })
  const refusal = await edit.then(
    () =>
      eventually('the edit is put back', async () => {
        const live = await cluster.worlds.get(resource)
        const synced = live.status?.conditions?.find(({ type }) => type === 'Synced')
        return live.spec.networking.ports[0]?.containerPort === 7777 && synced?.message
      }),
    (error: Error) => error.message,
  )
  expect(refusal).toMatch(message)
})

test('worlds have the address of their node with a port each, and keep it when their server restarts', async () => {
  const two = [
    { name: 'game', containerPort: 9000, protocol: 'UDP' },
    { name: 'web', containerPort: 9001, protocol: 'TCP', policy: 'Passthrough' },
  ]
  const [one, other] = [await start(...two), await start()]
  const addresses = await isActive(one)
  const all = [...addresses, ...(await isActive(other))]
  expect(all.every((address) => address.host === host)).toBe(true)
  expect(new Set(all.map(({ port }) => port)).size).toBe(3)

  const { uid } = (await cluster.pod(namespaceOf(), one).exists()).metadata
  // A new operator knows the ports from the pods alone.
  await operator.stop()
  operator = await startOperator(settings)
  await cluster.pod(namespaceOf(), one).exits(1)
  await eventually('the next server', async () => {
    const pod = await cluster.pod(namespaceOf(), one).find()
    return pod !== undefined && pod.metadata.uid !== uid
  })
  expect(await isActive(one)).toEqual(addresses)
  await Promise.all([stop(one), stop(other)])
})

test('a world for which no node has a port tries others, says so, and starts when one is free', async () => {
  const ids = await Promise.all(Array.from({ length: 8 }, () => start()))
  const numbers = (await Promise.all(ids.map(isActive))).flat().map(({ port }) => port)
  expect(numbers.sort()).toEqual([7000, 7001, 7002, 7003, 7004, 7005, 7006, 7007])
  const late = await start()
  const { message, run } = await has(late, 'PortsExhausted')
  expect(message).toContain('No node with free host ports')
  expect(run?.restarts).toBe(0)
  const [pod] = (await cluster.pod(namespaceOf(), late).exists()).spec?.containers ?? []
  const wanted = pod?.ports?.find(({ hostPort }) => hostPort !== undefined)?.hostPort
  const holder = await eventually('the world with that port', async () => {
    for (const id of ids) if ((await isActive(id))[0]?.port === wanted) return id
    return undefined
  })
  await stop(holder)
  expect(await isActive(late)).toMatchObject([{ host, port: wanted }])
  await Promise.all([...ids.filter((id) => id !== holder), late].map(stop))
})

test('of two worlds with one static port, the second says PortTaken and starts when the first stops', async () => {
  const first = await start(fixed)
  expect(await isActive(first)).toMatchObject([{ host, port: 7100 }])
  const second = await start(fixed)
  expect((await has(second, 'PortTaken')).message).toContain('A host port of the policy Static is in use')
  await stop(first)
  expect(await isActive(second)).toMatchObject([{ host, port: 7100 }])
  await stop(second)
})
