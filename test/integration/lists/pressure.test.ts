import { Client } from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { readMetric } from '#test/support/metrics.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { createRest } from '#test/support/rest.ts'
import { dial } from '#test/support/tcpClient.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { isTimed } from '#test/support/timing.ts'
import { aVictim } from '#test/support/victim.ts'
import { eventually } from '#test/support/wait.ts'
import { fillWorlds } from './largestRows.ts'

const mib = 1024 * 1024
/** The bytes of each request that do not count. */
const freeBytes = 64 * 1024

let databaseUrl: string
let database: Client
let api: ApiProcess
beforeAll(async () => {
  databaseUrl = await aDatabase()
  const settings = {
    ORRERY_LIMIT_IN_FLIGHT_BYTES_PER_ORGANIZATION: String(16 * mib),
    ORRERY_LIMIT_REQUEST_BURST: '100000',
  }
  api = await startApi({ databaseUrl, settings })
  database = new Client(databaseUrl)
  await database.connect()
})
afterAll(async () => {
  await database.end()
  await api.stop()
})

const aTenantWithWorlds = async (count: number) => {
  const tenant = await aTenant(api.url)
  await fillWorlds({ tenant, database }, { count })
  const apiKey = await tenant.key([`${tenant.paths.organization}/**:r`])
  return { ...tenant, apiKey, rest: createRest(api.url, tenant.scope, apiKey) }
}
const metric = (name: string): Promise<number> => readMetric(api.metricsUrl, name)

/** Begins an upload that holds that many bytes until it is ended. It sends most of them, and then just enough not to be closed. */
const holdBytes = async ({ scope, key, paths }: Tenant, bytes: number) => {
  const heldBefore = await metric('orrery_in_flight_bytes')
  const { socket } = dial({ port: Number(new URL(api.url).port), host: '127.0.0.1' })
  const lines = [
    'PATCH /api/organizations/current/pictureUrl/ HTTP/1.1',
    'host: x',
    `x-api-key: ${await key([`${paths.organization}:w`])}`,
    `x-svc-organization-id: ${scope.organizationId}`,
    'content-type: image/png',
    `content-length: ${bytes}`,
  ]
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  socket.write(Buffer.alloc(bytes - 60_000))
  const dripping = setInterval(() => socket.write(Buffer.alloc(512)), 250)
  await eventually(
    'the upload holds its bytes',
    async () => (await metric('orrery_in_flight_bytes')) >= heldBefore + bytes - freeBytes,
  )
  return (): void => {
    clearInterval(dripping)
    socket.destroy()
  }
}

test('a list gets shorter while others hold bytes, and is refused when not even one item fits', async () => {
  const tenant = await aTenantWithWorlds(100)
  const list = () => tenant.rest.call<object[]>('GET', '/api/worlds/')
  const counts = [(await list()).body.length]
  const uploads: (() => void)[] = []
  onTestFinished(() => uploads.forEach((end) => void end()))
  let refused: Awaited<ReturnType<typeof list>> | undefined
  while (refused === undefined && uploads.length < 8) {
    uploads.push(await holdBytes(tenant, 2 * mib + freeBytes))
    const answer = await list()
    if (answer.status === 200) counts.push(answer.body.length)
    else refused = answer
  }
  expect(counts).toEqual(counts.toSorted((a, b) => b - a))
  expect(counts.length).toBeGreaterThan(2)
  expect(counts.at(-1)).toBeGreaterThan(0)
  expect(refused?.status).toBe(429)
  expect(refused?.headers.get('retry-after')).toBe('2')
  for (const end of uploads) end()
  await eventually('the bytes are free', async () => (await metric('orrery_in_flight_bytes')) === 0)
  expect((await list()).body.length).toBe(counts[0])
})

if (isTimed) {
  test('lists of the largest rows leave memory, and time for another tenant', async () => {
    const attacker = await aTenantWithWorlds(1_000)
    const victim = await aVictim(api.url)
    await victim.read(100)
    const quietMs = await victim.read(300)
    let isOver = false
    let highest = 0
    const headers = { 'x-api-key': attacker.apiKey, 'x-svc-organization-id': attacker.scope.organizationId }
    const attack = async (): Promise<void> => {
      while (!isOver) {
        const answer = await fetch(`${api.url}/api/worlds/`, { headers })
        for await (const _ of answer.body ?? []) highest = Math.max(highest, 0)
      }
    }
    const watch = async (): Promise<void> => {
      while (!isOver) highest = Math.max(highest, await metric('process_resident_memory_bytes'))
    }
    const attacks = [...Array.from({ length: 8 }, attack), watch()]
    const busyMs = await victim.read(300)
    isOver = true
    await Promise.all(attacks)
    process.stderr.write(
      `[lists] p99 ${quietMs.toFixed(1)} ms quiet, ${busyMs.toFixed(1)} ms beside lists, RSS ${(highest / mib).toFixed(0)} MiB\n`,
    )
    expect(busyMs).toBeLessThan(10 * quietMs)
    expect(highest).toBeLessThan(600 * mib)
  })
}
