import { request } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import type { Pod } from '#operator/pods/pod.ts'
import { systemClock } from '#shared/clock.ts'
import { KubeError } from '#shared/kube/errors.ts'
import type { BytesRequest, Request, Transport } from '#shared/kube/transport.ts'
import { createLog } from '#shared/log.ts'
import { type LogTicket, signTicket } from '#shared/logs/ticket.ts'
import { eventually } from '#test/support/wait.ts'
import { serveLogs } from './server.ts'

const key = 'a-key-of-at-least-thirty-two-characters'
const audience = 'orrery-operator/default'
const ticket: LogTicket = {
  source: 'pod',
  namespace: 'orrery-a',
  kind: 'World',
  name: 'w',
  uid: 'owner-1',
  podUid: 'pod-1',
  follow: false,
  tailLines: 10,
}
const owner = { apiVersion: 'orrery.dev/v1alpha1', kind: 'World', name: 'w', uid: 'owner-1', controller: true }
const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'w', namespace: 'orrery-a', uid: 'pod-1', ownerReferences: [owner] },
}

type Bytes = (request: BytesRequest) => AsyncIterable<Buffer>
const ended: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ended.splice(0)) await end()
})

/** Answers like an API server without metrics.k8s.io. */
const withoutMetrics: Transport['request'] = () => Promise.reject(new KubeError({ message: 'no', status: 404 }))

const start = async (
  bytes: Bytes,
  {
    tails = new Map<string, Buffer>(),
    ask = withoutMetrics,
  }: { tails?: Map<string, Buffer>; ask?: typeof withoutMetrics } = {},
): Promise<string> => {
  const server = await serveLogs({
    settings: { port: 0, address: '127.0.0.1', tls: undefined, keys: [key], audience },
    transport: { bytes, request: ask },
    pods: { servers: new Map([['orrery-a/w', pod]]), bots: new Map() },
    tailOf: (uid) => tails.get(uid),
    clock: systemClock,
    log: createLog({ name: 'test', level: 'silent' }),
  })
  ended.push(server.close)
  return `http://127.0.0.1:${server.port}`
}
const sign = (more: Partial<LogTicket> = {}, signedWith = key): Promise<string> =>
  signTicket({ ...ticket, ...more }, { key: signedWith, audience, nowMs: systemClock.now() })
const ask = async (url: string, token: string): Promise<Response> =>
  fetch(url, { headers: { authorization: `Bearer ${token}` } })

/** Answers like a node: an empty read first, then the log. */
const node = (text: string): { bytes: Bytes; asked: BytesRequest[] } => {
  const asked: BytesRequest[] = []
  return {
    asked,
    bytes: async function* (read) {
      asked.push(read)
      if (read.query.tailLines !== '0') yield Buffer.from(text)
    },
  }
}

test('returns the log of the pod of a ticket, whatever the URL names', async () => {
  const { bytes, asked } = node('hello\n')
  const url = await start(bytes)
  const answer = await ask(`${url}/api/v1/namespaces/kube-system/pods/x/log?container=y&follow=true`, await sign())
  expect([answer.status, await answer.text()]).toEqual([200, 'hello\n'])
  expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8')
  expect(asked.map(({ path }) => path)).toEqual(Array(2).fill('/api/v1/namespaces/orrery-a/pods/w/log'))
  expect(asked[1]?.query).toMatchObject({ container: 'server', tailLines: '10', follow: undefined })
})

test.each([
  ['no ticket', async () => ''],
  ['a ticket of another key', () => sign({}, 'another-key-of-at-least-32-characters!')],
  ['noise', async () => 'a.b.c'],
])('%s is an empty 401, whatever the path', async (_, token) => {
  const { bytes, asked } = node('secret')
  const url = await start(bytes)
  for (const path of ['/', '/logs', '/metrics', '/livez']) {
    const answer = await ask(`${url}${path}`, await token())
    expect([answer.status, await answer.text()]).toEqual([401, ''])
  }
  expect(asked).toEqual([])
})

test.each([
  ['the pod of the ticket is gone', { podUid: 'pod-0' }, undefined, 404, 'NotFound'],
  ['the API server has no such pod', {}, new KubeError({ message: 'no', status: 404 }), 404, 'NotFound'],
  ['the container waits', {}, new KubeError({ message: 'waiting: secret', status: 400 }), 409, 'NotStarted'],
  ['the node is silent', {}, new KubeError({ message: 'x', status: 0, reason: 'Timeout' }), 502, 'NodeUnreachable'],
  ['the node is gone', {}, new KubeError({ message: 'dial tcp', status: 500 }), 502, 'NodeUnreachable'],
] as const)('names the reason only if %s', async (_, more, error, status, reason) => {
  const url = await start(async function* () {
    if (error !== undefined) throw error
    yield Buffer.from('never')
  })
  const answer = await ask(url, await sign(more))
  expect([answer.status, await answer.text()]).toEqual([status, JSON.stringify({ reason })])
})

test('returns the kept tail of a deleted pod', async () => {
  const url = await start(node('').bytes, { tails: new Map([['pod-0', Buffer.from('the end')]]) })
  expect(await (await ask(url, await sign({ source: 'tail', podUid: 'pod-0' }))).text()).toBe('the end')
  expect((await ask(url, await sign({ source: 'tail', podUid: 'pod-9' }))).status).toBe(404)
})

test('a reader that disconnects ends the stream from a silent node', async () => {
  let aborted = false
  const url = await start(async function* ({ query, signal }) {
    if (query.tailLines === '0') return
    yield Buffer.from('first\n')
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    aborted = true
  })
  const reading = request(url, { headers: { authorization: `Bearer ${await sign({ follow: true })}` } })
  await new Promise<void>((resolve) => reading.once('response', (answer) => answer.once('data', () => resolve())).end())
  reading.destroy()
  await eventually('the end of the stream', async () => aborted)
})

describe('a ticket for a sample', () => {
  const metrics: Partial<LogTicket> = { source: 'metrics' }
  const usage = { cpu: '250m', memory: '1Ki' }
  const sampled = { timestamp: '2026-11-21T08:00:00Z', window: '15s', containers: [{ name: 'server', usage }] }

  test('gets the newest sample of its pod, and no log', async () => {
    const { bytes, asked } = node('secret')
    const paths: string[] = []
    const answerOnce = (async ({ path }: Request) => {
      paths.push(path)
      return sampled
    }) as Transport['request']
    const answer = await ask(await start(bytes, { ask: answerOnce }), await sign(metrics))
    expect([answer.status, await answer.json()]).toEqual([
      200,
      expect.objectContaining({ podUid: 'pod-1', cpuMillicores: 250, memoryBytes: 1024 }),
    ])
    expect([paths, asked]).toEqual([['/apis/metrics.k8s.io/v1beta1/namespaces/orrery-a/pods/w'], []])
  })

  test.each([
    ['the pod of the ticket is gone', { podUid: 'pod-0' }, 404, 'NotFound'],
    ['the cluster has no metrics', {}, 501, 'MetricsNotInstalled'],
  ])('gets the reason only if %s', async (_, more, status, reason) => {
    const answer = await ask(await start(node('secret').bytes), await sign({ ...metrics, ...more }))
    expect([answer.status, await answer.text()]).toEqual([status, JSON.stringify({ reason })])
  })
})
