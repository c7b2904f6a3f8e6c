import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { purgeDeleted } from '#api/domain/deletion/purge.ts'
import { openDatabase } from '#api/platform/database/client.ts'
import { createClient } from '#shared/kube/client.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { groupVersion } from '#shared/resources/group.ts'
import { readPolicy } from '#shared/resources/namespacePolicy.ts'
import { aCluster } from '#test/support/cluster.ts'
import { createFaultProxy } from '#test/support/faultProxy.ts'
import { metricOf } from '#test/support/metrics.ts'
import { type ApiProcess, aDatabase, runOrrery, startApi, startOperator } from '#test/support/processes.ts'
import { createRest } from '#test/support/rest.ts'
import { getServers } from '#test/support/servers.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
const namespaces = createClient<KubeObject>(cluster.transport, {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
})
let proxy: Awaited<ReturnType<typeof createFaultProxy>>
let databaseUrl: string
let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>
let database: ReturnType<typeof openDatabase>
let startOwnApi: () => Promise<ApiProcess>

beforeAll(async () => {
  await cluster.removeLeftovers()
  databaseUrl = await aDatabase()
  proxy = await createFaultProxy({ kubeconfig: getServers().apiKubeconfig })
  startOwnApi = () => startApi({ databaseUrl, kubeconfig: proxy.kubeconfig })
  operator = await startOperator()
  api = await startOwnApi()
  database = openDatabase({ url: databaseUrl, poolSize: 2 })
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop()])
  await database?.close()
  await proxy?.remove()
  await cluster.close()
})

const checks = /^controller_runtime_reconcile_total\{[^}]*controller="repair"[^}]*\} (\d+)$/gm
/** Returns how often the API has compared a namespace with its row. */
const checked = () => metricOf(api.metricsUrl, checks)

/** A tenant with a namespace in the cluster, and one World there that the API made. The API has checked the namespace. */
const aNamespace = async () => {
  const before = await checked()
  const tenant = await aTenant(api.url)
  const { organizationId } = tenant.scope
  const namespace = `orrery-${organizationId}`
  const world = await tenant.world()
  await cluster.world(namespace, world).exists()
  await eventually('the new namespace is checked', async () => (await checked()) > before)
  const path = `/api/organizations/${organizationId}/`
  const call = async (method: string, to: string): Promise<void> => {
    // The URL of a new process of the API differs.
    const { status } = await createRest(api.url, tenant.scope).call(method, to)
    if (status !== 204) throw new Error(`${method} ${to}: ${status}`)
  }
  const isClosed = async () => readPolicy((await namespaces.get({ name: namespace })).metadata).isClosed === true
  const bindings = () => cluster.kubectl('-n', namespace, 'get', 'rolebinding', '-o', 'name').split('\n').length - 1
  return {
    tenant,
    namespace,
    world,
    isClosed,
    bindings,
    delete: () => call('DELETE', path),
    restore: () => call('POST', `${path}restore/`),
    purge: () => call('POST', `${path}purge/`),
    becomesClosed: () => eventually('the namespace is closed', isClosed),
    /** Makes the API check the namespace. One check may have begun before, so the second one counts. */
    isChecked: async () => {
      for (const note of ['first', 'second']) {
        const count = await checked()
        cluster.kubectl('annotate', '--overwrite', 'namespace', namespace, `orrery.dev/note=${note}`)
        await eventually('the namespace is checked', async () => (await checked()) > count)
      }
    },
    losesRoles: () => eventually('its roles are gone', async () => bindings() === 0, { timeoutMs: 30_000 }),
  }
}

const createWorld = (namespace: string, name: string) =>
  cluster.worlds.create({
    apiVersion: groupVersion,
    kind: 'World',
    // No project has this id, so that the API never adopts the World.
    metadata: { namespace, name, labels: { 'orrery.dev/project': 'prj-00000000000000000000000000' } },
    spec: { state: 'Stopped' },
  })
const syncedReason = async (namespace: string, name: string) =>
  (await cluster.worlds.get({ namespace, name })).status?.conditions?.find(({ type }) => type === 'Synced')?.reason

const countRows = async (table: string, organizationId: string): Promise<number> => {
  const column = table === 'organizations' ? 'id' : 'organization_id'
  const { rows } = await database.db.execute<{ n: number }>(
    sql.raw(`select count(*)::int as n from ${table} where ${column} = '${organizationId}'`),
  )
  return rows[0]?.n ?? 0
}
const isErased = (table: string, { scope }: Tenant) =>
  eventually(`no row of ${table} is left`, async () => {
    await purgeDeleted(database, new AbortController().signal)
    return (await countRows(table, scope.organizationId)) === 0
  })

const run = (...args: string[]): string =>
  runOrrery(args, {
    ORRERY_DATABASE_URL: databaseUrl,
    ORRERY_PUBLIC_URL: api.url,
    ORRERY_PORT: new URL(api.url).port,
    KUBECONFIG: getServers().adminKubeconfig,
  }).stdout
const orphans = () => metricOf(api.metricsUrl, /^orrery_orphans\{kind="World"\} (\d+)$/gm)
/** Checks that every list of the administrator has a World, with this sentence, and that the metric counts it. */
const isListed = async (namespace: string, name: string, sentence: RegExp): Promise<void> => {
  await eventually('the finding', async () => {
    const line = run('sync', 'status')
      .split('\n')
      .find((each) => each.startsWith(`Orphan World ${namespace}/${name} `))
    return line !== undefined && sentence.test(line)
  })
  expect(await orphans()).toBe(1)
  expect(run('doctor')).toMatch(new RegExp(`^World ${namespace}/${name}: Its organization`, 'm'))
}

test('a deleted organization closes its namespace and loses its roles last, and its restore brings them back', async () => {
  const own = await aNamespace()
  expect([await own.isClosed(), own.bindings()]).toEqual([false, 2])
  await own.delete()
  await own.becomesClosed()
  await cluster.world(own.namespace, own.world).isGone()
  await own.losesRoles()
  await own.restore()
  await eventually('the namespace is open', async () => !(await own.isClosed()) && own.bindings() === 2)
  await cluster.world(own.namespace, own.world).exists()
})

test('what the API does not know in a closed namespace is not adopted, is listed before and after the purge, and keeps the roles', async () => {
  const own = await aNamespace()
  await createWorld(own.namespace, 'stray')
  await eventually('not adopted', async () => (await syncedReason(own.namespace, 'stray')) === 'ProjectNotFound')
  await own.delete()
  await own.becomesClosed()
  await createWorld(own.namespace, 'afterwards')
  for (const name of ['stray', 'afterwards']) {
    await eventually(name, async () => (await syncedReason(own.namespace, name)) === 'OrganizationDeleted')
  }
  await cluster.worlds.delete({ namespace: own.namespace, name: 'afterwards' })
  await cluster.world(own.namespace, 'afterwards').isGone()
  await eventually('one orphan', async () => (await orphans()) === 1)
  await isListed(own.namespace, 'stray', /was deleted, and the resource has no row/)

  await own.purge()
  await isErased('organizations', own.tenant)
  // A restart reads everything again.
  await api.stop()
  api = await startOwnApi()
  await isListed(own.namespace, 'stray', /neither it nor its organization has a row/)
  expect([await own.isClosed(), own.bindings()]).toEqual([true, 2])
  await cluster.worlds.delete({ namespace: own.namespace, name: 'stray' })
  await own.losesRoles()
  expect(await own.isClosed()).toBe(true)
  await eventually('no orphan', async () => (await orphans()) === 0)
})

test('a pod in a closed namespace keeps the roles', async () => {
  const own = await aNamespace()
  await cluster.pods.create({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: own.namespace, name: 'left' },
    spec: {
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'left',
          image: 'registry.example/left:1',
          resources: { limits: { cpu: '1m', memory: '1Mi' } },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    },
  })
  await own.delete()
  await cluster.world(own.namespace, own.world).isGone()
  await own.isChecked()
  expect(own.bindings()).toBe(2)
  await cluster.pods.delete({ namespace: own.namespace, name: 'left' }, { gracePeriodSeconds: 0 })
  await own.losesRoles()
})

test('a purge waits until the namespace is closed', async () => {
  const own = await aNamespace()
  const release = proxy.holdRequests('namespaces')
  await own.delete()
  await own.purge()
  await isErased('projects', own.tenant)
  await purgeDeleted(database, new AbortController().signal)
  expect([await countRows('organizations', own.tenant.scope.organizationId), await own.isClosed()]).toEqual([1, false])
  release()
  await isErased('organizations', own.tenant)
  expect(await own.isClosed()).toBe(true)
})

test('the mark follows the row, also when another client changes it and without a World to push', async () => {
  const own = await aNamespace()
  cluster.kubectl('annotate', '--overwrite', 'namespace', own.namespace, 'orrery.dev/closed=true')
  await eventually('the namespace is open', async () => !(await own.isClosed()))
  // A World that is pushed after the restore would make the namespace again.
  await own.tenant.rest.call('DELETE', `/api/worlds/${own.world}/`)
  await own.delete()
  await own.losesRoles()
  cluster.kubectl('annotate', 'namespace', own.namespace, 'orrery.dev/closed-')
  await own.becomesClosed()
  await own.restore()
  await eventually('the namespace is open', async () => !(await own.isClosed()) && own.bindings() === 2)
})

test('an organization that the database does not know is listed, and its namespace is not closed, with Worlds or without', async () => {
  const own = await aNamespace()
  const { organizationId } = own.tenant.scope
  await api.stop()
  for (const table of ['launch_contexts', 'worlds', 'projects', 'api_keys', 'organizations']) {
    const of = table === 'launch_contexts' ? `world_id = '${own.world}'` : undefined
    const column = table === 'organizations' ? 'id' : 'organization_id'
    await database.db.execute(sql.raw(`delete from ${table} where ${of ?? `${column} = '${organizationId}'`}`))
  }
  api = await startOwnApi()
  await isListed(own.namespace, own.world, /neither it nor its organization has a row/)
  expect([await own.isClosed(), own.bindings()]).toEqual([false, 2])
  await cluster.removeLeftovers()
  await own.isChecked()
  expect([await own.isClosed(), own.bindings()]).toEqual([false, 2])
})

test('a paused World is deleted with its organization', async () => {
  const own = await aNamespace()
  cluster.kubectl('-n', own.namespace, 'annotate', 'world', own.world, 'orrery.dev/paused=true')
  await own.delete()
  await eventually('its deletion is requested', async () => {
    const live = await cluster.world(own.namespace, own.world).find()
    return live?.metadata.deletionTimestamp !== undefined || live === undefined
  })
})
