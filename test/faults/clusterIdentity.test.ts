import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { resolveBinaries } from '#dev/kubernetes/binaries.ts'
import { type ControlPlane, startControlPlane } from '#dev/kubernetes/controlPlane.ts'
import { installManifests } from '#dev/kubernetes/manifests.ts'
import { createClient } from '#shared/kube/client.ts'
import { loadCredentials } from '#shared/kube/config.ts'
import { createTransport } from '#shared/kube/transport.ts'
import { withDefined } from '#shared/optional.ts'
import { worldResource } from '#shared/resources/group.ts'
import type { World } from '#shared/resources/world.ts'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, logLines, rootApiKey, runOrrery, startApi } from '#test/support/processes.ts'
import { createRest } from '#test/support/rest.ts'
import { getServers } from '#test/support/servers.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

type Status = {
  clusters: { state: string; message: string; heldSweeps: { kind: string; missing: number; total: number }[] }[]
  dirtyRows: { count: number; oldestSeconds: number }
}

const cluster = aCluster()
let databaseUrl: string
let api: ApiProcess
beforeAll(async () => {
  databaseUrl = await aDatabase()
  api = await startApi({ databaseUrl })
})
afterAll(async () => {
  await api?.stop()
  await cluster.close()
})

const sync = (...args: string[]): string => {
  const { stdout, stderr } = runOrrery(['sync', ...args], { ORRERY_DATABASE_URL: databaseUrl })
  return stdout + stderr
}
const namespaceOf = (tenant: Tenant): string => `orrery-${tenant.scope.organizationId}`
const readStatus = async (): Promise<Status> => {
  const { status, body } = await createRest(api.url, {}, rootApiKey).call<Status>('GET', '/api/sync/')
  expect(status).toBe(200)
  return body
}
const metric = async (name: string): Promise<number> => {
  const text = await (await fetch(api.metricsUrl)).text()
  return Number(new RegExp(`^${name}\\{cluster="default"\\} (.*)$`, 'm').exec(text)?.[1])
}
const isDrained = () =>
  eventually('no row is dirty', async () => (await readStatus()).dirtyRows.count === 0, { timeoutMs: 90_000 })

/** Starts the stopped API again, with the same URL. */
const restartApi = async (kubeconfig?: string): Promise<void> => {
  const port = Number(new URL(api.url).port)
  api = await startApi({ databaseUrl, port, ...withDefined({ kubeconfig }) })
}

/** A tenant with worlds in the cluster. */
const aTenantWithWorlds = async (count: number) => {
  const tenant = await aTenant(api.url)
  const ids = await Promise.all(Array.from({ length: count }, (_, at) => tenant.world({ name: `World ${at}` })))
  await isDrained()
  return { tenant, ids }
}

/** Deletes Worlds without their finalizer, while no API runs. */
const loseWorlds = async (namespace: string, ids: readonly string[]): Promise<void> => {
  await api.stop()
  for (const name of ids) {
    await cluster.worlds.patch({ namespace, name }, { metadata: { finalizers: null } })
    await cluster.worlds.delete({ namespace, name })
    await cluster.world(namespace, name).isGone()
  }
  await restartApi()
}

test('a sweep that finds more than the limit missing recreates nothing until it is accepted', async () => {
  const { tenant, ids } = await aTenantWithWorlds(8)
  const namespace = namespaceOf(tenant)
  await loseWorlds(namespace, ids.slice(0, 7))
  const held = await eventually('the sweep is held', async () => (await readStatus()).clusters[0]?.heldSweeps[0])
  expect(held).toMatchObject({ kind: 'World', missing: 7, total: 8 })
  expect(await metric('orrery_held_resources')).toBe(7)
  const shown = await tenant.rest.call<{ status: { message: string } }>('GET', `/api/worlds/${ids[0]}/`)
  expect(shown.body.status.message).toContain('this resource and many others are missing from the cluster')
  expect(sync('status')).toContain('7 of 8 World resources are missing')
  expect((await cluster.worlds.list({ namespace })).items).toHaveLength(1)

  expect(sync('accept')).toContain('7 missing worlds will be recreated')
  for (const id of ids) await cluster.world(namespace, id).exists()
  await eventually('nothing is held', async () => (await readStatus()).clusters[0]?.heldSweeps.length === 0)
  expect(sync('accept')).toContain('Nothing waits for acceptance')
  expect((await createRest(api.url).call('GET', '/api/audit/platform/')).body).toMatchObject([
    { door: 'cli', actor: { kind: 'command', id: 'orrery sync accept' }, action: 'acceptSweeps' },
  ])
})

test('another cluster gets nothing until it is accepted, and then everything; so does a restored one', async () => {
  const { tenant, ids } = await aTenantWithWorlds(3)
  await api.stop()
  const dir = mkdtempSync(join(tmpdir(), 'orrery-second-'))
  const second = await aSecondCluster(dir)
  try {
    await restartApi(second.apiKubeconfig())
    await eventually('the cluster is refused', async () => (await metric('orrery_cluster_accepted')) === 0)
    ids.push(await tenant.world({ name: 'Written meanwhile' }))
    expect((await fetch(`${api.url}/readyz`)).status).toBe(200)
    const refused = (await readStatus()).clusters[0]
    expect(refused).toMatchObject({ state: 'AnotherCluster', message: expect.stringContaining('orrery sync accept') })
    expect(logLines(api.logFile).filter(({ level }) => level === 'error' || level === 50)).not.toEqual([])
    expect(await second.namespaces()).not.toContain(namespaceOf(tenant))

    expect(sync('accept')).toContain('is accepted in place of')
    await second.has(tenant, ids)
    await isDrained()

    await api.stop()
    await second.backUp()
    await restartApi(second.apiKubeconfig())
    await tenant.rest.call('PATCH', `/api/worlds/${ids[0]}/`, { name: 'Renamed after the backup' })
    ids.push(...(await Promise.all(Array.from({ length: 6 }, () => tenant.world()))))
    await isDrained()
    await api.stop()
    await second.restore()

    await restartApi(second.apiKubeconfig())
    await eventually('it is refused', async () => (await readStatus()).clusters[0]?.state === 'RestoredCluster')
    expect(await second.nameOf(tenant, ids[0] ?? '')).toBe('World 0')
    expect(sync('accept')).toContain('The restored cluster is accepted')
    await second.has(tenant, ids)
    await eventually(
      'the row wins',
      async () => (await second.nameOf(tenant, ids[0] ?? '')) === 'Renamed after the backup',
    )
    await isDrained()
  } finally {
    await second.stop()
    rmSync(dir, { recursive: true, force: true })
  }
})

/** A control plane of its own, whose data can be backed up and restored. */
const aSecondCluster = async (dir: string) => {
  const progress = (): void => undefined
  const binaries = await resolveBinaries(['etcd', 'kube-apiserver'], { env: process.env, progress })
  const start = () => startControlPlane({ dir, logDir: getServers().logDir, binaries, durable: false, progress })
  let plane: ControlPlane = await start()
  await installManifests({ kubeconfig: plane.adminKubeconfig, parameters: { namespacePrefix: 'orrery' } })
  let apiKubeconfig = await plane.kubeconfig({ user: 'orrery-api' })
  const inCluster = async <T>(act: (transport: ReturnType<typeof createTransport>) => Promise<T>): Promise<T> => {
    const credentials = loadCredentials({ KUBECONFIG: plane.adminKubeconfig })
    const transport = createTransport({ credentials, userAgent: 'orrery-tests' })
    try {
      return await act(transport)
    } finally {
      await transport.close()
    }
  }
  const world = (tenant: Tenant, name: string): Promise<World> =>
    inCluster((transport) =>
      createClient<World>(transport, worldResource).get({ namespace: namespaceOf(tenant), name }),
    )
  const restart = async (whileStopped: () => void): Promise<void> => {
    await plane.stop()
    whileStopped()
    plane = await start()
    apiKubeconfig = await plane.kubeconfig({ user: 'orrery-api' })
  }
  const [data, backup] = [join(dir, 'etcd'), join(dir, 'backup')]
  return {
    apiKubeconfig: () => apiKubeconfig,
    namespaces: () =>
      inCluster(async (transport) => {
        const client = createClient(transport, { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace' })
        return (await client.list()).items.map(({ metadata }) => metadata.name)
      }),
    has: async (tenant: Tenant, ids: readonly string[]): Promise<void> => {
      for (const id of ids) await eventually(`${id} is in the cluster`, () => world(tenant, id))
    },
    nameOf: async (tenant: Tenant, id: string) => (await world(tenant, id)).spec.displayName,
    /** Copies the data of etcd, while the API server is down. */
    backUp: () => restart(() => cpSync(data, backup, { recursive: true })),
    restore: () =>
      restart(() => {
        rmSync(data, { recursive: true })
        cpSync(backup, data, { recursive: true })
      }),
    stop: () => plane.stop(),
  }
}
