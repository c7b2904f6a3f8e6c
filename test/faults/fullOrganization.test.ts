import { afterAll, beforeAll, expect, test } from 'vitest'
import { maxMappings } from '#api/domain/access/groups.ts'
import { inSession } from '#dev/postgres.ts'
import { maxArgsBytes, maxMetadataBytes } from '#shared/domain/common.ts'
import { type Client, createClient } from '#shared/kube/client.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { botDeploymentResource } from '#shared/resources/group.ts'
import { aCluster } from '#test/support/cluster.ts'
import { metricOf } from '#test/support/metrics.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { isTimed } from '#test/support/timing.ts'
import { eventually } from '#test/support/wait.ts'

// Rows that cost little are at the default limits. Of worlds and bot deployments there is a fifth, each resource as large as the
// API server accepts: together 120 MiB, more than the operator's heap may have here, which is a ninth of its real limit.
const each = 200
const limits = { maxWorlds: each, maxBotDeployments: each }
const counts = { apiKeys: 1_000, webhooks: 10, documents: 100_000, projects: 1_000, builds: 10_000, deployments: 1_000 }
const atOnce = 8
const operatorHeapMiB = 112
const apiHeapMiB = 176
/** Half of what the chart allows each process. */
const maxRssMiB = 768

const texts = (count: number, length: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`full.example/${at}`, 'x'.repeat(length)]))
const metadata = { annotations: texts(8, maxMetadataBytes / 8 - 14), labels: {} }
const args = Array.from({ length: 4 }, () => 'x'.repeat(maxArgsBytes / 4))
/** Kubernetes accepts 256 KiB of annotations. */
const kubeAnnotations = texts(4, 60_000)

const cluster = aCluster()
const bots = createClient(cluster.transport, botDeploymentResource)
const heap = (maxMiB: number) => ({ NODE_OPTIONS: `--max-old-space-size=${maxMiB}` })
let databaseUrl: string
let tenant: Tenant
let namespace: string
let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>

/** Starts API and operator with little memory, on the same port each time. */
const startBoth = async (): Promise<void> => {
  const port = Number(new URL(api.url).port)
  operator = await startOperator(heap(operatorHeapMiB))
  api = await startApi({ databaseUrl, port, settings: heap(apiHeapMiB) })
}
const stopBoth = (): Promise<unknown> => Promise.all([api?.stop(), operator?.stop()])

/**
 * Inserts copies of the rows of an organization in a table, as many as fill it up to a number. `columns` has the SQL of the values
 * that differ, in which `n` is the number of the copy.
 */
const fill = async (table: string, total: number, columns: Readonly<Record<string, string>>): Promise<void> => {
  const values = Object.entries(columns).map(([name, value]) => `'${name}', ${value}`)
  await inSession(databaseUrl, (session) =>
    session
      .query(
        `insert into ${table} select copy.* from ${table} original, generate_series(2, ${total}) n,
           lateral jsonb_populate_record(original, jsonb_build_object(${values.join(', ')})) copy
         where original.organization_id = '${tenant.scope.organizationId}'`,
      )
      .then(() => undefined),
  )
}
const idOf = (prefix: string, number = 'n'): string => `'${prefix}-' || lpad((${number})::text, 26, '0')`
const unpushed = { resource_uid: 'null', applied: 'null', applied_resource_version: 'null' }

/** Creates one row of each table over REST. */
const createOneOfEach = async (): Promise<void> => {
  const { rest } = tenant
  const must = async (method: string, path: string, body?: object, headers?: Record<string, string>) => {
    const { status, body: answer } = await rest.call(method, path, body, headers)
    if (status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`)
  }
  const world = await tenant.world({ description: 'x'.repeat(256), metadata })
  await must('POST', `/api/worlds/${world}/start/`)
  await must('POST', `/api/worlds/${world}/stop/`)
  await must('POST', `/api/worlds/${world}/bots/`, { count: 0, description: 'x'.repeat(2_048), args, metadata })
  const document = { data: { key: 'k', store: 'kvstoreClient', data: { text: 'x'.repeat(200) } } }
  await must('PUT', '/api/documents/kvStore/k/', document, { 'x-svc-world-id': world })
  await tenant.key([`${tenant.paths.project}/**:r`])
  await must('POST', '/api/webhooks/', { url: 'https://hooks.example/', events: [] })
  await must('PUT', '/api/builds/live/v1/', { image: 'registry.example/server:1', contentId: 'content' })
  const groups = Array.from({ length: maxMappings }, (_, at) => ({
    issuer: 'https://id.example.com',
    group: `group ${at}`,
    permissions: [`${tenant.paths.organization}/**:r`],
  }))
  await must('PUT', '/api/organizations/current/groups/', { groups })
}

const fillTables = async (): Promise<void> => {
  await fill('worlds', each, { id: idOf('wld'), resource_name: idOf('wld'), ...unpushed })
  await fill('launch_contexts', each, { id: idOf('lctx'), world_id: idOf('wld') })
  const ofWorld = { world_id: idOf('wld'), world_name: idOf('wld') }
  await fill('bot_deployments', each, { id: idOf('bot'), resource_name: idOf('bot'), ...ofWorld, ...unpushed })
  await fill('deployments', counts.deployments * (each - 1) + 1, {
    id: idOf('dep'),
    run_id: idOf('run'),
    world_id: idOf('wld', `2 + n % ${each - 1}`),
  })
  await fill('documents', counts.documents, { id: "'k' || n" })
  await fill('api_keys', counts.apiKeys, { id: idOf('key'), fingerprint: "'copy ' || n" })
  await fill('webhooks', counts.webhooks, { id: idOf('whk') })
  await fill('projects', counts.projects, { id: idOf('prj') })
  await fill('builds', counts.builds, { id: idOf('bld'), tag: "'v' || n" })
  await inSession(databaseUrl, (session) =>
    session
      .query(
        `insert into cluster_outbox (kind, id, revision, next_at)
           select 'world', id, revision, now() from worlds where resource_uid is null
           union all select 'bot', id, revision, now() from bot_deployments where resource_uid is null`,
      )
      .then(() => undefined),
  )
}

const annotateAll = async <T extends KubeObject>(client: Client<T>): Promise<void> => {
  const { items } = await client.list({ namespace })
  const left = [...items]
  const work = async (): Promise<void> => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      await client.patch(next.metadata, { metadata: { annotations: kubeAnnotations } })
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
}

const isPushed = (): Promise<boolean> =>
  eventually(
    'all rows are pushed',
    async () => {
      const { body } = await tenant.rest.call<{ dirtyRows: { count: number } }>('GET', '/api/sync/')
      return body.dirtyRows.count === 0
    },
    { timeoutMs: 120_000 },
  )

beforeAll(async () => {
  await cluster.removeLeftovers()
  databaseUrl = await aDatabase()
  api = await startApi({ databaseUrl })
  tenant = await aTenant(api.url)
  namespace = `orrery-${tenant.scope.organizationId}`
  await tenant.rest.call('PATCH', `/api/organizations/${tenant.scope.organizationId}/limits/`, limits)
  await createOneOfEach()
  await api.stop()
  await fillTables()
}, 900_000)
afterAll(async () => {
  await stopBoth()
  await cluster.removeLeftovers()
  await cluster.close()
})

test('an organization filled to its limits is pushed, and API and operator start again within their memory', async () => {
  await startBoth()
  await isPushed()
  await annotateAll(cluster.worlds)
  await annotateAll(bots)
  await stopBoth()
  await startBoth()
  for (const url of [api.url, operator.url]) expect((await fetch(`${url}/readyz`)).status).toBe(200)

  const usage = await tenant.rest.call<Record<string, { limit: number; used: number }>>(
    'GET',
    '/api/organizations/current/usage/',
  )
  for (const name of ['maxWorlds', 'maxBotDeployments', 'maxApiKeys', 'maxWebhooks', 'maxDocuments']) {
    expect([name, usage.body[name]?.used]).toEqual([name, usage.body[name]?.limit])
  }
  for (const [method, path, body] of [
    ['POST', '/api/worlds/', { name: 'One more', transient: false }],
    ['POST', '/api/organizations/projects/', { name: 'One more' }],
    ['POST', '/api/webhooks/', { url: 'https://hooks.example/', events: [] }],
    ['PUT', '/api/builds/live/more/', { image: 'registry.example/server:1', contentId: 'content' }],
  ] as const) {
    expect([path, (await tenant.rest.call(method, path, body)).status]).toEqual([path, 409])
  }
  const listed = await tenant.rest.call<object[]>('GET', '/api/worlds/?limit=1000')
  expect([listed.status, listed.body.length]).toEqual([200, each])

  const neighbour = await aTenant(api.url)
  const world = await neighbour.world()
  expect((await neighbour.rest.call('POST', `/api/worlds/${world}/start/`)).status).toBe(200)
  await cluster.pod(`orrery-${neighbour.scope.organizationId}`, world).exists()
  for (const url of [api.metricsUrl, `${operator.url}/metrics`]) {
    const rssMiB = (await metricOf(url, /^process_resident_memory_bytes (\S+)$/gm)) / 2 ** 20
    process.stdout.write(`[full organization] ${url}: ${rssMiB.toFixed(0)} MiB\n`)
    if (isTimed) expect(rssMiB).toBeLessThan(maxRssMiB)
  }
}, 900_000)
