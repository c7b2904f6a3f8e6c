import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createApp } from '#api/app.ts'
import { readApiConfig } from '#api/config.ts'
import { createDeps } from '#api/deps.ts'
import { credentialOf } from '#api/domain/endpoint/endpoint.ts'
import { createClusterDirectory } from '#api/domain/worlds/place.ts'
import { endpoints } from '#api/endpoints.ts'
import { openDatabase } from '#api/platform/database/client.ts'
import { createClusterLogs } from '#api/platform/logs/clusterLogs.ts'
import { openObjectStore } from '#api/platform/objects/open.ts'
import { systemClock } from '#shared/clock.ts'
import { createIdSource } from '#shared/ids.ts'
import { createLog } from '#shared/log.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'
import { noTracing } from '#shared/tracing/tracing.ts'
import { apiSecrets, rootApiKey } from '#test/support/processes.ts'
import { bodies, logReads, openRoutes, operations } from './matrix.ts'
import { type FullTenant, type Matrix, startMatrix } from './support.ts'

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix?.stop())

test('the matrix contains every route of the live router', async () => {
  const { db, close } = openDatabase({ url: matrix.databaseUrl, poolSize: 1 })
  const config = readApiConfig({
    ORRERY_DATABASE_URL: matrix.databaseUrl,
    ORRERY_ROOT_API_KEY: rootApiKey,
    ORRERY_PUBLIC_URL: matrix.url,
    ...apiSecrets(),
  })
  const log = createLog({ name: 'test', level: 'error' })
  const parts = {
    db,
    clock: systemClock,
    newId: createIdSource(systemClock),
    log,
    objects: await openObjectStore(config.objectStoreUrl),
    logs: createClusterLogs([], { clock: systemClock, log }),
    clusters: createClusterDirectory(config.clusters),
    profiles: scalingProfiles,
    wakeSync: () => undefined,
  }
  const { routes } = createApp({
    deps: createDeps(parts, config),
    rootApiKey,
    verifyToken: async () => undefined,
    rateLimits: config.rateLimits,
    allowedOrigins: [],
    clientAddress: () => '',
    projectOfWorld: async () => undefined,
    registry: new Registry(),
    requestTracing: { tracing: noTracing, trustsTraceparent: false },
    consoleFiles: new Map(),
    isReady: async () => true,
  })
  const routed = routes.filter(({ method }) => method !== 'ALL').map(({ method, path }) => `${method} ${path}`)
  const inTable = endpoints.map(({ method, path }) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`)
  expect(routed.sort()).toEqual([...openRoutes, ...inTable].sort())
  expect(endpoints.map(({ operationId }) => operationId).sort()).toEqual(Object.keys(bodies).sort())
  await close()
})

/** The operations that read from a server, and their statuses if none runs, or if the API has no operator. */
const serverReads = [...logReads, 'readWorldMetrics']
const withoutServer = [409, 501]

test.each([
  ['the platform key', 'key', 'keyOrToken'],
  ["a user's token", 'token', 'keyOrToken'],
])('every request of the matrix that accepts it succeeds with %s', async (_, ...accepting) => {
  const accepted = operations.filter(([, endpoint]) => accepting.includes(credentialOf(endpoint)))
  for (const [at, [name, endpoint]] of accepted.entries()) {
    const full = await matrix.aFullTenant(`good-${at}`)
    const { tenant, ids } = full
    const permissions = [`${tenant.paths.organization}/**:*`]
    const credential = accepting.includes('token')
      ? { token: await tenant.token(ids.userId, permissions) }
      : { apiKey: rootApiKey }
    if (/^(restore|purge)/.test(name)) await removeFirst(name, full)
    const answer = await matrix.request(endpoint, ids, credential)
    const expected = serverReads.includes(name) ? withoutServer : [endpoint.status ?? 200]
    expect(expected, `${name}: ${answer.text}`).toContain(answer.status)
  }
})

/** Deletes what a restore or a purge acts on. No operator removes the resources, so the rows are marked as removed. */
const removeFirst = async (operationId: string, { tenant, ids }: FullTenant): Promise<void> => {
  const { organizationId, worldId } = ids
  const deletions: Record<string, string> = {
    World: `/api/worlds/${worldId}/`,
    Project: '/api/organizations/projects/current/',
    Organization: `/api/organizations/${organizationId}/`,
  }
  await tenant.rest.call('DELETE', deletions[operationId.replace(/^(restore|purge)/, '')] ?? '')
  await matrix.execute(
    `update worlds set removed_at = now() where id = '${worldId}'`,
    `update bot_deployments set removed_at = now() where world_id = '${worldId}'`,
  )
}
