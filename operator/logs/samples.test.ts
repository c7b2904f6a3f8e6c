import { expect, test } from 'vitest'
import type { Pod } from '#operator/pods/pod.ts'
import { KubeError } from '#shared/kube/errors.ts'
import type { Request, Transport } from '#shared/kube/transport.ts'
import type { Log } from '#shared/log.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createSamples } from './samples.ts'

const targetOf = (name: string, namespace = 'a', uid = name) => {
  const metadata = { name, namespace, uid, creationTimestamp: '2026-11-21T08:00:00Z' }
  const pod: Pod = { apiVersion: 'v1', kind: 'Pod', metadata }
  return { pod, role: 'server' as const }
}
const answer = {
  timestamp: '2026-11-21T08:00:50Z',
  window: '15s',
  containers: [{ name: 'server', usage: { cpu: '1m', memory: '1Ki' } }],
}
const start = (respond: (path: string) => Promise<unknown> = async () => answer) => {
  const clock = createFakeClock()
  const paths: string[] = []
  const logged: object[] = []
  const quiet = { debug: () => undefined, info: () => undefined, error: () => undefined }
  const log: Log = { ...quiet, warn: (fields) => void logged.push(fields), child: () => log }
  const transport = {
    request: (request: Request) => {
      paths.push(request.path)
      return respond(request.path)
    },
  } as Pick<Transport, 'request'>
  const samples = createSamples({ transport, clock, log })
  const read = async (...pod: Parameters<typeof targetOf>) => {
    const read = await samples.read(targetOf(...pod))
    return 'refusal' in read ? read.refusal : read.sample.podUid
  }
  return { clock, paths, logged, read }
}
const failing = (status: number, reason = '') =>
  start(() => Promise.reject(new KubeError({ message: 'no', status, reason })))

test('asks for each pod once in 5 s, and once for all who ask at the same time', async () => {
  const { clock, paths, read } = start()
  expect(await Promise.all([read('w'), read('w'), read('v')])).toEqual(['w', 'w', 'v'])
  expect(await read('w')).toBe('w')
  expect(paths).toEqual(['w', 'v'].map((name) => `/apis/metrics.k8s.io/v1beta1/namespaces/a/pods/${name}`))
  clock.advance(5_000)
  await read('w')
  expect(paths).toHaveLength(3)
})

test('a successor of the same name is asked for at once', async () => {
  const { paths, read } = start()
  expect([await read('w', 'a', 'one'), await read('w', 'a', 'two')]).toEqual(['one', 'two'])
  expect(paths).toHaveLength(2)
})

test.each([
  ['NoSample', 404, 'NotFound', 2, 5_000],
  ['MetricsNotInstalled', 404, '', 1, 60_000],
  ['MetricsDown', 503, 'ServiceUnavailable', 1, 15_000],
  ['SampleUnreadable', 0, 'Timeout', 1, 15_000],
  ['SampleUnreadable', 500, 'InternalError', 1, 15_000],
  ['SampleUnreadable', 0, 'Malformed', 2, 5_000],
] as const)('%s is kept for as long as it may last (%i %s)', async (refusal, status, reason, asked, keptMs) => {
  const { clock, paths, read } = failing(status, reason)
  expect([await read('w'), await read('w')]).toEqual([refusal, refusal])
  expect(paths).toHaveLength(1)
  // What the whole cluster lacks, no other pod is asked for.
  expect(await read('v', 'b')).toBe(refusal)
  expect(paths).toHaveLength(asked)
  clock.advance(keptMs - 1)
  await read('w')
  expect(paths).toHaveLength(asked)
  clock.advance(1)
  await read('w')
  expect(paths).toHaveLength(asked + 1)
})

test('a failure of the metrics API is logged once for all who ask meanwhile', async () => {
  const { clock, read, logged } = failing(0, 'Timeout')
  await Promise.all(Array.from({ length: 10 }, (_, at) => read(`w${at}`)))
  expect(logged).toHaveLength(1)
  clock.advance(15_000)
  await read('w')
  expect(logged).toHaveLength(2)
})

test('a missing right is kept for the pods of its namespace', async () => {
  const { clock, paths, read } = failing(403, 'Forbidden')
  expect([await read('w'), await read('v'), await read('w', 'b')]).toEqual(Array(3).fill('MetricsNotAllowed'))
  expect(paths).toHaveLength(2)
  clock.advance(60_000)
  await read('w')
  expect(paths).toHaveLength(3)
})

test('an answer that is no sample is refused', async () => {
  expect(await start(async () => ({ kind: 'Status' })).read('w')).toBe('SampleUnreadable')
})

test('at most 32 are read at the same time, and half of them for one namespace', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { paths, read } = start(() => promise.then(() => answer))
  const reading = ['a', 'b'].flatMap((namespace) =>
    Array.from({ length: 17 }, (_, at) => read(`${namespace}${at}`, namespace)),
  )
  expect(await Promise.all([reading[16], reading[33], read('w', 'c')])).toEqual(['Busy', 'Busy', 'Busy'])
  expect(paths).toHaveLength(32)
  resolve()
  await Promise.all(reading)
  expect(await read('w', 'c')).toBe('w')
})

test('at most 1,000 answers are in memory; the oldest is dropped first', async () => {
  const { paths, read } = start()
  for (let at = 0; at <= 1_000; at += 1) await read(`w${at}`)
  await read('w1000')
  expect(paths).toHaveLength(1_001)
  await read('w0')
  expect(paths).toHaveLength(1_002)
})
