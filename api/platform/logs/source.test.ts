import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '#shared/clock.ts'
import { createLog } from '#shared/log.ts'
import { logRefusals, maxLogBytes, maxTailBytes } from '#shared/logs/reasons.ts'
import type { LogTicket } from '#shared/logs/ticket.ts'
import { withDefined } from '#shared/optional.ts'
import { countLogResults, observeLogSlots } from './metrics.ts'
import { createLogSlots } from './slots.ts'
import { createLogSource, type LogResult } from './source.ts'

const ticket: LogTicket = {
  source: 'pod',
  kind: 'World',
  namespace: 'n',
  name: 'w',
  uid: 'u',
  runId: 'r',
  podUid: 'p',
  follow: false,
}
const log = createLog({ name: 'test', level: 'silent' })
let answer: { status: number; body: string }
const server = createServer((request, response) => {
  request.resume()
  response.writeHead(answer.status, { 'content-length': Buffer.byteLength(answer.body) }).end(answer.body)
})
beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

test.each([
  ['a tail', { source: 'tail' as const }, maxTailBytes],
  ['a log that is not followed', {}, maxLogBytes],
])('%s is read up to its limit, however much the operator sends', async (_, more, maxBytes) => {
  answer = { status: 200, body: 'x'.repeat(maxBytes + 100_000) }
  const source = sourceAt(portOf())
  const opened = await source.open({ ...ticket, ...more }, new AbortController().signal)
  const chunks = 'chunks' in opened ? await Array.fromAsync(opened.chunks) : []
  expect(Buffer.concat(chunks)).toHaveLength(maxBytes)
  await source.close()
})

const sourceAt = (port: number, onResult?: (result: LogResult) => void) =>
  createLogSource(
    { url: `http://127.0.0.1:${port}`, caFile: undefined, key: 'k'.repeat(32), audience: 'default' },
    { clock: systemClock, log, ...withDefined({ onResult }) },
  )

/** Opens a log once and returns the results that the metric has counted. */
const countedAfter = async (port: number): Promise<Record<string, number>> => {
  const registry = new Registry()
  const source = sourceAt(port, countLogResults(registry))
  await source.open(ticket, new AbortController().signal).catch(() => undefined)
  await source.close()
  const { values = [] } = (await registry.getSingleMetric('orrery_logs_opened_total')?.get()) ?? {}
  return Object.fromEntries(values.filter(({ value }) => value > 0).map(({ labels, value }) => [labels.result, value]))
}
const portOf = () => (server.address() as AddressInfo).port

test.each<[result: string, status: number, body: string]>([
  ['Opened', 200, 'a log'],
  ...Object.entries(logRefusals).map(([reason, status]): [string, number, string] => [
    reason,
    status,
    JSON.stringify({ reason }),
  ]),
  ['TicketRefused', 401, ''],
])('counts a log as %s if the operator answers %i', async (result, status, body) => {
  answer = { status, body }
  expect(await countedAfter(portOf())).toEqual({ [result]: 1 })
})

test('counts a log as NoAnswer if no operator listens', async () => {
  const closed = createServer()
  closed.listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const { port } = closed.address() as AddressInfo
  await new Promise((resolve) => closed.close(resolve))
  expect(await countedAfter(port)).toEqual({ NoAnswer: 1 })
})

test('shows the logs that are being read', async () => {
  const registry = new Registry()
  const slots = createLogSlots({ perKey: 5, perOrganization: 5, perReplica: 5 })
  observeLogSlots(registry, slots)
  const read = async () => (await registry.getSingleMetric('orrery_logs_open')?.get())?.values[0]?.value
  expect(await read()).toBe(0)
  const release = slots.take({
    principal: { kind: 'key', id: 'a', bucket: 'one a', permissions: [], claims: [] },
    organizationId: 'one',
    findEnd: async () => undefined,
    end: () => undefined,
  })
  expect(await read()).toBe(1)
  release()
  expect(await read()).toBe(0)
})
