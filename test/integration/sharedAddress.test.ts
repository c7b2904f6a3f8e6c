import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Service } from '#operator/pods/service.ts'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import type { WorldBody } from '#test/support/rest.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const host = '198.51.100.7'
const key = 'example.com/sharing-key'
const settings = {
  ORRERY_PLACEMENT: JSON.stringify([
    {
      service: {
        annotations: { [key]: 'europe' },
        externalTrafficPolicy: 'Cluster',
        sharing: { pool: 'europe', ports: '7000-7015' },
      },
    },
  ]),
}
const manyPorts = Array.from({ length: 8 }, (_, at) => ({ name: `p${at}`, containerPort: 9000 + at, protocol: 'UDP' }))

const cluster = aCluster()
let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>
let tenant: Tenant
let balancer: ReturnType<typeof aLoadBalancer>

/**
 * A load balancer with one address. As MetalLB and Cilium do, it gives the address to a Service only if its ports differ from those of
 * the Services that have it.
 */
const aLoadBalancer = () => {
  const stop = new AbortController()
  const portsOf = ({ spec }: Service) => (spec?.ports ?? []).map(({ port, protocol }) => `${port}/${protocol}`)
  const hasAddress = ({ status }: Service) => status?.loadBalancer?.ingress !== undefined
  const round = async () => {
    const { items } = await cluster.services.list({})
    const shared = items.filter(({ metadata }) => metadata.annotations?.[key] === 'europe')
    const taken = new Set(shared.filter(hasAddress).flatMap(portsOf))
    for (const service of shared.filter((each) => !hasAddress(each))) {
      if (portsOf(service).some((port) => taken.has(port))) continue
      for (const port of portsOf(service)) taken.add(port)
      const { namespace = '', name } = service.metadata
      await cluster.service(namespace, name).getsAddress(host)
    }
    return stop.signal.aborted
  }
  const running = eventually('the end of the load balancer', round, { timeoutMs: 600_000 })
  return {
    stop: async () => {
      stop.abort()
      await running
    },
  }
}

beforeAll(async () => {
  ;[api, operator] = await Promise.all([startApi({ databaseUrl: await aDatabase() }), startOperator(settings)])
  tenant = await aTenant(api.url)
  balancer = aLoadBalancer()
})
afterAll(async () => {
  await balancer?.stop()
  await Promise.all([api?.stop(), operator?.stop()])
  await cluster.close()
})

type Shown = WorldBody & { status: { addresses?: { name: string; host: string; port: number }[]; reason?: string } }
const read = async (id: string) => (await tenant.rest.call<Shown>('GET', `/api/worlds/${id}/`)).body.status
const namespaceOf = () => `orrery-${tenant.scope.organizationId}`
/** Creates and starts a world whose server becomes Ready. */
const start = async (ports: object[]) => {
  const id = await tenant.world({ networking: { strategy: 'LoadBalancer', ports } })
  await tenant.rest.call('POST', `/api/worlds/${id}/start/`)
  await cluster.pod(namespaceOf(), id).exists()
  await cluster.pod(namespaceOf(), id).becomesReady()
  return id
}
const stop = async (id: string) => {
  await tenant.rest.call('POST', `/api/worlds/${id}/stop/`)
  await cluster.service(namespaceOf(), id).isGone()
}
const isActive = (id: string) =>
  eventually(`${id} is Active`, async () => {
    const { phase, addresses } = await read(id)
    return phase === 'Active' && addresses
  })

test('worlds share one address with a port each; without a free one a world waits for it and says so', async () => {
  const first = await start(manyPorts)
  const second = await start(manyPorts.slice(0, 7))
  const [one, two] = [await isActive(first), await isActive(second)]
  expect([...one, ...two].every((address) => address.host === host)).toBe(true)
  const numbers = [...one, ...two].map(({ port }) => port)
  expect(new Set(numbers).size).toBe(15)
  expect(numbers.every((port) => port >= 7000 && port <= 7015)).toBe(true)

  // One port is left, and the third world needs two.
  const third = await start(manyPorts.slice(0, 2))
  const waiting = await eventually('PortsExhausted', async () => {
    const { status } = await cluster.worlds.get({ namespace: namespaceOf(), name: third })
    return status?.conditions?.some(({ reason }) => reason === 'PortsExhausted') && status
  })
  expect(waiting).toMatchObject({ phase: 'Starting', message: expect.stringContaining('no free port') })

  // A new operator knows the ports from the Services alone.
  await operator.stop()
  operator = await startOperator(settings)
  await stop(second)
  const three = await isActive(third)
  expect(three.map(({ port }) => port).filter((port) => one.some((other) => other.port === port))).toEqual([])
  expect((await read(first)).addresses).toEqual(one)
  await Promise.all([stop(first), stop(third)])
})

test('a world keeps the ports that its players know when its Service is edited or its server restarts', async () => {
  const id = await start(manyPorts.slice(0, 1))
  const addresses = await isActive(id)
  const service = () => cluster.services.get({ namespace: namespaceOf(), name: id })
  const { spec: before } = await service()
  const [port] = before?.ports ?? []
  await cluster.services.patch((await service()).metadata, { spec: { ports: [{ ...port, port: 7777 }] } })
  await eventually('the port is put back', async () => isDeepStrictEqual((await service()).spec?.ports, before?.ports))
  const { uid } = (await cluster.pod(namespaceOf(), id).exists()).metadata
  await cluster.pod(namespaceOf(), id).exits(1)
  await eventually('the next server', async () => {
    const pod = await cluster.pod(namespaceOf(), id).find()
    return pod !== undefined && pod.metadata.uid !== uid
  })
  await cluster.pod(namespaceOf(), id).becomesReady()
  expect(await isActive(id)).toEqual(addresses)
  await stop(id)
})
