import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '#shared/clock.ts'
import { createLog } from '#shared/log.ts'
import { logRefusals, maxLogBytes, maxTailBytes } from '#shared/logs/reasons.ts'
import { maxSampleBytes, type Sample } from '#shared/logs/sample.ts'
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

const valid: Sample = {
  podUid: 'p',
  sampledAt: '2026-11-21T08:00:00.000Z',
  windowSeconds: 15,
  cpuMillicores: 1,
  memoryBytes: 2,
}
const readSampleFrom = async (operator: typeof answer): Promise<unknown> => {
  answer = operator
  const source = sourceAt(portOf())
  const read = await source.readSample({ ...ticket, source: 'metrics' }).catch(({ code, headers, message }) => ({
    code,
    retryAfter: headers['retry-after'],
    message,
  }))
  await source.close()
  return read
}

test('returns the sample of the operator', async () => {
  expect(await readSampleFrom({ status: 200, body: JSON.stringify(valid) })).toEqual(valid)
})

test.each([
  ['NotFound', 404],
  ['NoSample', 409],
])('there is no sample yet if the operator answers %s', async (reason, status) => {
  expect(await readSampleFrom({ status, body: JSON.stringify({ reason }) })).toBeUndefined()
})

test.each([
  ['not_configured', undefined, 'install metrics-server', 501, '{"reason":"MetricsNotInstalled"}'],
  ['not_configured', undefined, 'get on pods.metrics.k8s.io', 501, '{"reason":"MetricsNotAllowed"}'],
  ['unavailable', '15', 'kubectl get apiservice', 503, '{"reason":"MetricsDown"}'],
  ['unavailable', '15', 'no usable answer', 502, '{"reason":"SampleUnreadable"}'],
  ['unavailable', '5', 'Too many', 503, '{"reason":"Busy"}'],
  // An operator of a version without samples.
  ['unavailable', '60', 'an earlier version', 401, ''],
  ['unavailable', '15', 'no usable answer', 200, '{}'],
  ['unavailable', '15', 'no usable answer', 200, JSON.stringify({ ...valid, more: 'x'.repeat(maxSampleBytes) })],
])('a sample is %s, to be retried after %s s, because of "%s"', async (code, retryAfter, words, status, body) => {
  const message = expect.stringContaining(words)
  expect(await readSampleFrom({ status, body })).toEqual({ code, retryAfter, message })
})

test('reads at most 16 samples at the same time, and in any case one of another organization', async () => {
  const silent = createServer(() => undefined).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const source = sourceAt((silent.address() as AddressInfo).port)
  const read = (namespace: string) => source.readSample({ ...ticket, source: 'metrics', namespace }).catch(String)
  const reading = Array.from({ length: 16 }, () => read('a'))
  const arrived = once(silent, 'connection')
  expect(await read('a')).toContain('Too many metrics')
  await arrived
  const other = read('b')
  await once(silent, 'connection')
  silent.closeAllConnections()
  silent.close()
  const told = await Promise.all([...reading, other])
  expect(told.filter((each) => String(each).includes('does not answer'))).toHaveLength(17)
  await source.close()
})

test('without an operator, a sample is not configured', async () => {
  const source = createLogSource(undefined, { clock: systemClock, log })
  await expect(source.readSample({ ...ticket, source: 'metrics' })).rejects.toMatchObject({ code: 'not_configured' })
})
