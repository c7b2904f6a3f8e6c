import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { botDeployments } from '#api/domain/bots/table.ts'
import { clusterContainers } from '#api/domain/clusters/table.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import { openDatabase } from '#api/platform/database/client.ts'
import { installManifests } from '#dev/kubernetes/manifests.ts'
import type { Service } from '#dev/process.ts'
import { apiFinalizer } from '#shared/resources/group.ts'
import { aCluster } from '#test/support/cluster.ts'
import { startNamespaceController } from '#test/support/namespaceController.ts'
import { namespacePrefixes } from '#test/support/namespacePrefixes.ts'
import { type ApiProcess, aDatabase, runOrrery, startApi, startOperator } from '#test/support/processes.ts'
import { createRest, type WorldBody } from '#test/support/rest.ts'
import { getServers } from '#test/support/servers.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

type SyncStatus = { clusters: { heldSweeps: { kind: string; missing: number }[] }[] }

const cluster = aCluster()
const parts: Service[] = []
let databaseUrl: string
let api: ApiProcess
let database: ReturnType<typeof openDatabase>

beforeAll(async () => {
  await cluster.removeLeftovers()
  databaseUrl = await aDatabase()
  parts.push(await startNamespaceController(), await startOperator())
  api = await startApi({ databaseUrl })
  parts.push(api)
  database = openDatabase({ url: databaseUrl, poolSize: 2 })
})
afterAll(async () => {
  await Promise.all(parts.map((part) => part.stop()))
  await database?.close()
  await cluster.close()
})

const namespaceOf = (tenant: Tenant): string => `orrery-${tenant.scope.organizationId}`
const uidOf = (kind: string, name: string): string =>
  cluster.kubectl('get', kind, name, '-o', 'jsonpath={.metadata.uid}')
const liveUid = async (namespace: string, name: string) => (await cluster.world(namespace, name).find())?.metadata.uid
const allow = (kind: string, name: string) =>
  cluster.kubectl('annotate', kind, name, '--overwrite', 'orrery.dev/allow-delete=true')

/** A tenant with a running world that has bots and a document, and with a stopped world. */
const aVictim = async () => {
  const tenant = await aTenant(api.url)
  const namespace = namespaceOf(tenant)
  const running = await tenant.world()
  const stopped = await tenant.world({ name: 'Cellar' })
  await tenant.rest.call('POST', `/api/worlds/${running}/start/`)
  await tenant.rest.call('POST', `/api/worlds/${running}/bots/`, { count: 1 })
  const document = { data: { key: 'k', store: 'kvstoreClient', data: { precious: true } } }
  const put = await tenant.rest.call('PUT', '/api/documents/kvStore/k/', document, { 'x-svc-world-id': running })
  const bots = (await tenant.rest.call<{ documentId: string }[]>('GET', `/api/worlds/${running}/bots/`)).body[0]
  const botId = bots?.documentId ?? ''
  await cluster.pod(namespace, running).exists()
  await cluster.botDeployment(namespace, botId).exists()
  await cluster.world(namespace, stopped).exists()
  const uids = [await liveUid(namespace, running), await liveUid(namespace, stopped)]
  /** Waits until all resources were recreated, and checks that REST lost nothing. */
  const isRepaired = async (): Promise<void> => {
    for (const [at, id] of [running, stopped].entries()) {
      await eventually(`${id} is recreated`, async () => {
        const uid = await liveUid(namespace, id)
        return uid !== undefined && uid !== uids[at]
      })
    }
    await cluster.botDeployment(namespace, botId).exists()
    await cluster.pod(namespace, running).exists()
    const listed = await tenant.rest.call<{ documentId: string; name: string }[]>('GET', '/api/worlds/')
    expect(listed.body.map(({ documentId }) => documentId).sort()).toEqual([running, stopped].sort())
    const document = await tenant.rest.call('GET', '/api/documents/kvStore/k/', undefined, {
      'x-svc-world-id': running,
    })
    expect([put.status, document.status]).toEqual([200, 200])
    for (const table of [worlds, botDeployments]) {
      const rows = await database.db.select().from(table).where(eq(table.organizationId, tenant.scope.organizationId))
      expect(rows.map(({ deletingAt }) => deletingAt)).toEqual(rows.map(() => null))
    }
  }
  return { tenant, namespace, running, stopped, isRepaired }
}

const messageOf = async (tenant: Tenant, id: string): Promise<string> =>
  (await tenant.rest.call<WorldBody>('GET', `/api/worlds/${id}/`)).body.status.message

test('a deleted namespace is recreated with all its resources, and REST shows what it waits for', async () => {
  const { tenant, namespace, running, isRepaired } = await aVictim()
  const uid = uidOf('namespace', namespace)
  const held = { metadata: { finalizers: ['example.com/held'] } }
  cluster.kubectl('-n', namespace, 'create', 'configmap', 'held')
  cluster.kubectl('-n', namespace, 'patch', 'configmap', 'held', '--type=merge', '-p', JSON.stringify(held))
  allow('namespace', namespace)
  cluster.kubectl('delete', 'namespace', namespace, '--wait=false')
  await eventually('REST says that the namespace is terminating', async () => {
    const message = await messageOf(tenant, running)
    return message.startsWith('Waiting for the cluster: ') && message.includes(`namespace ${namespace} is terminating`)
  })
  await cluster.world(namespace, running).isGone()
  const release = { metadata: { finalizers: null } }
  cluster.kubectl('-n', namespace, 'patch', 'configmap', 'held', '--type=merge', '-p', JSON.stringify(release))
  await isRepaired()
  expect(uidOf('namespace', namespace)).not.toBe(uid)
  const later = await tenant.world({ name: 'Attic' })
  await tenant.rest.call('POST', `/api/worlds/${later}/start/`)
  await cluster.pod(namespace, later).exists()
  await eventually(
    'the message is gone',
    async () => !(await messageOf(tenant, running)).startsWith('Waiting for the cl'),
  )
})

test('deleted definitions take no row with them, and the resources come back with the definitions', async () => {
  const { tenant, stopped, isRepaired } = await aVictim()
  const names = ['worlds.orrery.dev', 'botdeployments.orrery.dev']
  for (const name of names) {
    allow('crd', name)
    cluster.kubectl('delete', 'crd', name, '--timeout=60s')
  }
  await tenant.rest.call('PATCH', `/api/worlds/${stopped}/`, { description: 'later' })
  await eventually('REST says what is missing', async () =>
    (await messageOf(tenant, stopped)).includes('the definition of the resource is missing'),
  )
  await installManifests({
    kubeconfig: getServers().adminKubeconfig,
    parameters: { namespacePrefix: namespacePrefixes },
  })
  await isRepaired()
})

test('a deleted namespace is recreated in full without acceptance, while a loss of the same size that nothing explains waits for it', async () => {
  await eventually('the definitions that were deleted before explain nothing more', async () =>
    (await database.db.select().from(clusterContainers)).every(({ uid }) => uid !== ''),
  )
  // Both losses exceed the limit of a sweep, which is 5 here.
  const aFullTenant = async () => {
    const tenant = await aTenant(api.url)
    const ids = await Promise.all(Array.from({ length: 8 }, (_, at) => tenant.world({ name: `World ${at}` })))
    for (const id of ids) await cluster.world(namespaceOf(tenant), id).exists()
    return { namespace: namespaceOf(tenant), ids }
  }
  const [explained, unexplained] = await Promise.all([aFullTenant(), aFullTenant()])
  const uids = await Promise.all(explained.ids.map((id) => liveUid(explained.namespace, id)))
  await api.stop()
  const { namespace } = unexplained
  for (const name of unexplained.ids) {
    await cluster.worlds.patch({ namespace, name }, { metadata: { finalizers: null } })
    await cluster.worlds.delete({ namespace, name })
  }
  allow('namespace', explained.namespace)
  cluster.kubectl('delete', 'namespace', explained.namespace, '--wait=false')
  api = await startApi({ databaseUrl, port: Number(new URL(api.url).port) })
  parts.push(api)

  for (const [at, id] of explained.ids.entries()) {
    await eventually(`${id} is recreated`, async () => {
      const uid = await liveUid(explained.namespace, id)
      return uid !== undefined && uid !== uids[at]
    })
  }
  const heldWorlds = async () => {
    const { body } = await createRest(api.url).call<SyncStatus>('GET', '/api/sync/')
    return body.clusters.flatMap(({ heldSweeps }) => heldSweeps).find(({ kind }) => kind === 'World')
  }
  const held = await eventually('the other loss is held', heldWorlds)
  expect(held.missing).toBe(unexplained.ids.length)
  expect((await cluster.worlds.list({ namespace })).items).toEqual([])

  runOrrery(['sync', 'accept'], { ORRERY_DATABASE_URL: databaseUrl })
  for (const id of unexplained.ids) await cluster.world(namespace, id).exists()
  await eventually('nothing is held', async () => (await heldWorlds()) === undefined)
})

test('a resource that vanished without its finalizer is recreated', async () => {
  const { namespace, running, stopped, isRepaired } = await aVictim()
  await api.stop()
  for (const name of [running, stopped]) {
    cluster.kubectl('-n', namespace, 'delete', 'world', name, '--wait=false')
    cluster.kubectl('-n', namespace, 'patch', 'world', name, '--type=merge', '-p', '{"metadata":{"finalizers":null}}')
    await cluster.world(namespace, name).isGone()
  }
  api = await startApi({ databaseUrl, port: Number(new URL(api.url).port) })
  parts.push(api)
  await isRepaired()
})

test('a world that was deleted before its namespace began to terminate is deleted, and no other', async () => {
  const { tenant, namespace, running, stopped } = await aVictim()
  await api.stop()
  cluster.kubectl('-n', namespace, 'delete', 'world', stopped, '--wait=false')
  const deletedAt = Date.parse((await cluster.world(namespace, stopped).exists()).metadata.deletionTimestamp ?? '')
  await eventually('another second', async () => Date.now() > deletedAt + 3_000)
  allow('namespace', namespace)
  cluster.kubectl('delete', 'namespace', namespace, '--wait=false')
  api = await startApi({ databaseUrl, port: Number(new URL(api.url).port) })
  parts.push(api)
  await eventually('only the other is listed', async () => {
    const listed = await tenant.rest.call<{ documentId: string }[]>('GET', '/api/worlds/')
    return listed.body.length === 1 && listed.body[0]?.documentId === running
  })
  await eventually('the namespace is back', async () => {
    const world = await cluster.world(namespace, running).find()
    return world !== undefined && world.metadata.deletionTimestamp === undefined
  })
  expect((await cluster.world(namespace, running).exists()).metadata.finalizers).toContain(apiFinalizer)
  await cluster.world(namespace, stopped).isGone()
})

test('deletes in a live namespace with kubectl are deletions', async () => {
  const { tenant, namespace } = await aVictim()
  cluster.kubectl('-n', namespace, 'delete', 'world', '--all', '--wait=false')
  await eventually(
    'none is left',
    async () => (await tenant.rest.call<unknown[]>('GET', '/api/worlds/')).body.length === 0,
  )
})
