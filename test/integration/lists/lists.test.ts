import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import * as z from 'zod'
import { endpoints } from '#api/endpoints.ts'
import { aCluster } from '#test/support/cluster.ts'
import { openIdleReader } from '#test/support/idleReader.ts'
import { readMetric } from '#test/support/metrics.ts'
import { type ApiProcess, aDatabase, rootApiKey, startApi } from '#test/support/processes.ts'
import { createRest } from '#test/support/rest.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { isTimed } from '#test/support/timing.ts'
import { eventually } from '#test/support/wait.ts'
import { type Filled, lists } from './largestRows.ts'

const maxPageBytes = 8 * 1024 * 1024
const smallBudgetBytes = 16 * 1024 * 1024

const cluster = aCluster()
let api: ApiProcess
/** An API whose requests share so few bytes that parallel lists of large rows exceed them. */
let small: ApiProcess
let database: Client
beforeAll(async () => {
  // Resources of earlier files would be findings of the API, beside those of this file.
  await cluster.removeLeftovers()
  const databaseUrl = await aDatabase()
  api = await startApi({ databaseUrl })
  const bytes = String(smallBudgetBytes)
  const settings = { ORRERY_LIMIT_IN_FLIGHT_BYTES_PER_ORGANIZATION: bytes, ORRERY_LIMIT_IN_FLIGHT_BYTES: bytes }
  small = await startApi({ databaseUrl, settings })
  database = new Client(databaseUrl)
  await database.connect()
})
afterAll(async () => {
  await database.end()
  await Promise.all([api.stop(), small.stop(), cluster.close()])
})

/** The lists of the table of routes. That of the scaling profiles is not read from the database. */
const operations = endpoints
  .filter(({ method, answer, answerHeaders = [] }) => {
    return method === 'get' && (answer instanceof z.ZodArray || answerHeaders.includes('link'))
  })
  .map(({ operationId }) => operationId)
  .filter((operationId) => operationId !== 'listScalingProfiles')

test('every list of the table of routes is in this test', () => {
  expect(operations.toSorted()).toEqual(Object.keys(lists).toSorted())
})

type Row = { readonly documentId?: string; readonly id?: string; readonly worldId?: string }
type Rest = ReturnType<typeof createRest>

/** Reads a page: its items, its bytes, and the path of the next one. */
const readPage = async (rest: Rest, path: string, member: string | undefined) => {
  const { status, headers, body } = await rest.call<Row[] & Record<string, Row[]>>('GET', path)
  const items = status === 200 ? ((member === undefined ? body : body[member]) ?? []) : []
  const next = /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]
  return { status, headers, items, next, bytes: Buffer.byteLength(JSON.stringify(body)) }
}

const metricOfSmall = (name: string): Promise<number> => readMetric(small.metricsUrl, name)
const heldBytesOfSmall = (): Promise<number> => metricOfSmall('orrery_in_flight_bytes')
/** The most memory of the API with 16 MiB of requests. */
const maxResidentBytes = 600 * 1024 * 1024

/** Clients that do not read their responses: the number of connections, and the requests that each sends at once. */
const readers = [
  ['idle', { connections: 64, requests: 1 }],
  ['pipelining', { connections: 8, requests: 8 }],
] as const

const idOf = ({ documentId, id, worldId }: Row): string => documentId ?? id ?? worldId ?? ''

describe.each(operations)('%s with the largest rows that are allowed', (operationId) => {
  let filled: Filled
  let rest: Rest
  let restOfSmall: Rest
  let tenant: Tenant
  beforeAll(async () => {
    tenant = await aTenant(api.url)
    const fill = lists[operationId]
    if (fill === undefined) throw new Error(`The list ${operationId} has no rows in largestRows.ts.`)
    filled = await fill({ tenant, database })
    rest = createRest(api.url, tenant.scope, filled.apiKey)
    restOfSmall = createRest(small.url, tenant.scope, filled.apiKey)
  })

  test('has pages of at most 8 MiB, which together have each item once', async () => {
    const ids: string[] = []
    let path: string | undefined = filled.path
    while (path !== undefined) {
      const page = await readPage(rest, path, filled.member)
      expect(page.status).toBe(200)
      expect(page.items.length).toBeGreaterThan(0)
      expect(page.bytes).toBeLessThanOrEqual(maxPageBytes)
      ids.push(...page.items.map(idOf))
      path = page.next
    }
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.length).toBe(filled.rows)
  })

  test('is shorter or refused with Retry-After if parallel calls need more bytes than they may hold', async () => {
    const calls = Array.from({ length: 6 }, () => readPage(restOfSmall, filled.path, filled.member))
    for (const { status, headers, items } of await Promise.all(calls)) {
      expect([200, 429, 503]).toContain(status)
      if (status === 200) expect(items.length).toBeGreaterThan(0)
      else expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    }
    const after = await readPage(restOfSmall, filled.path, filled.member)
    expect(after.status).toBe(200)
  })

  test.each(readers)(
    'holds no more bytes than allowed for %s readers, and frees them when they leave',
    async (...[, load]) => {
      const headers = {
        'x-api-key': filled.apiKey ?? rootApiKey,
        'x-svc-organization-id': tenant.scope.organizationId,
        'x-svc-project-id': tenant.scope.projectId,
      }
      const request = { path: filled.path, headers, count: load.requests }
      const open = Array.from({ length: load.connections }, () => openIdleReader(small.url, request))
      onTestFinished(() => open.forEach(({ leave }) => void leave()))
      await eventually('each has a response', async () => open.every(({ head }) => head().includes('\r\n\r\n')))
      for (const { head } of open) {
        expect(head()).toMatch(/^HTTP\/1.1 (200|429|503) /)
        if (!head().startsWith('HTTP/1.1 200')) expect(head()).toMatch(/^retry-after: \d/im)
      }
      expect(await heldBytesOfSmall()).toBeLessThanOrEqual(smallBudgetBytes)
      if (isTimed) expect(await metricOfSmall('process_resident_memory_bytes')).toBeLessThan(maxResidentBytes)
      const { scope, key, paths } = await aTenant(api.url)
      const other = createRest(small.url, scope, await key([`${paths.organization}/**:r`]))
      expect((await other.call('GET', '/api/worlds/')).status).toBe(200)
      for (const { leave } of open) leave()
      // Requests that were waiting for their turn when their client left are handled first.
      await eventually('the list is served', async () => {
        return (await readPage(restOfSmall, filled.path, filled.member)).status === 200
      })
      await eventually('the bytes are free', async () => (await heldBytesOfSmall()) === 0)
    },
  )
})
