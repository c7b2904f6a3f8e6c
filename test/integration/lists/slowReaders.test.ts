import { Client } from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openIdleReader } from '#test/support/idleReader.ts'
import { readMetric } from '#test/support/metrics.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { aTenant } from '#test/support/tenant.ts'
import { isTimed } from '#test/support/timing.ts'
import { aVictim } from '#test/support/victim.ts'
import { eventually } from '#test/support/wait.ts'
import { fillWorlds } from './largestRows.ts'

const mib = 1024 * 1024
const perOrganizationBytes = 32 * mib
const addresses = Array.from({ length: 15 }, (_, at) => `127.0.5.${at + 1}`)
/** The connections of each kind. */
const perAddress = isTimed ? 100 : 8

let api: ApiProcess
let database: Client
beforeAll(async () => {
  const databaseUrl = await aDatabase()
  const settings = { ORRERY_LIMIT_REQUEST_BURST: '100000' }
  api = await startApi({ databaseUrl, settings })
  database = new Client(databaseUrl)
  await database.connect()
})
afterAll(async () => {
  await database.end()
  await api.stop()
})

const metric = (name: string): Promise<number> => readMetric(api.metricsUrl, name)
const residentMib = async (): Promise<number> => (await metric('process_resident_memory_bytes')) / mib

const bigFile = '/api/docs/swagger-ui-bundle.js'

test('clients of many addresses that do not read files and lists hold few bytes, and are closed', async () => {
  const tenant = await aTenant(api.url)
  await fillWorlds({ tenant, database })
  const headers = {
    'x-api-key': await tenant.key([`${tenant.paths.organization}/**:r`]),
    'x-svc-organization-id': tenant.scope.organizationId,
  }
  const victim = await aVictim(api.url)
  await victim.read(isTimed ? 100 : 1)
  const [quietMs, quietMib] = [await victim.read(isTimed ? 300 : 1), await residentMib()]
  const all = (request: { path: string; headers?: Record<string, string> }) =>
    addresses.flatMap((from) => Array.from({ length: perAddress }, () => openIdleReader(api.url, { ...request, from })))
  const openedMs = performance.now()
  const files = all({ path: bigFile })
  const lists = all({ path: '/api/worlds/', headers })
  onTestFinished(() => [...files, ...lists].forEach(({ leave }) => void leave()))
  const busyMs = await victim.read(isTimed ? 300 : 1)
  await eventually('each has a response', async () => [...files, ...lists].every(({ head }) => head() !== ''))
  expect(new Set(files.map(({ head }) => head().split(' ')[1]))).toEqual(new Set(['200']))
  for (const { head } of lists) expect(['200', '429', '503']).toContain(head().split(' ')[1])
  const held = await metric('orrery_in_flight_bytes')
  expect(held).toBeGreaterThan(0)
  expect(held).toBeLessThanOrEqual(perOrganizationBytes)
  const heldMib = await residentMib()
  // They are closed although they stay, because they read less than 16 KiB per second.
  await eventually('the bytes are free', async () => (await metric('orrery_in_flight_bytes')) === 0)
  const closedMs = performance.now() - openedMs
  const closedMib = await residentMib()
  await victim.read(1)
  if (!isTimed) return
  const served = lists.filter(({ head }) => head().startsWith('HTTP/1.1 200')).length
  process.stderr.write(
    `[slow readers] ${files.length} of a file, ${lists.length} of a list (${served} pages, the others refused): p99 ${quietMs.toFixed(1)} ms quiet, ` +
      `${busyMs.toFixed(1)} ms beside them; RSS ${quietMib.toFixed(0)}, ${heldMib.toFixed(0)} and, when they are closed after ` +
      `${(closedMs / 1_000).toFixed(0)} s, ${closedMib.toFixed(0)} MiB\n`,
  )
  expect(busyMs).toBeLessThan(10 * quietMs)
  expect(heldMib).toBeLessThan(600)
})
