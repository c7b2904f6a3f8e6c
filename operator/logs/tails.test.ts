import { expect, test } from 'vitest'
import type { Pod } from '#operator/pods/pod.ts'
import { systemClock } from '#shared/clock.ts'
import { KubeError } from '#shared/kube/errors.ts'
import { openStream, startScriptedServer } from '#shared/kube/testing/scriptedServer.ts'
import { type BytesRequest, createTransport } from '#shared/kube/transport.ts'
import { createLog } from '#shared/log.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { expectWithin } from '#test/support/timing.ts'
import { createTails } from './tails.ts'

const log = createLog({ name: 'test', level: 'silent' })
const podOf = (uid: string): Pod => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'w', namespace: 'a', uid } })
const start = (chunks: (request: BytesRequest) => AsyncIterable<Buffer>) => {
  const clock = createFakeClock()
  let reads = 0
  const bytes = (request: BytesRequest): AsyncIterable<Buffer> => {
    reads += 1
    return chunks(request)
  }
  return { clock, tails: createTails({ transport: { bytes }, clock, log }), reads: () => reads }
}

test('keeps the last 64 KiB of a log for 10 minutes', async () => {
  const { clock, tails } = start(async function* () {
    for (let at = 0; at < 10; at += 1) yield Buffer.alloc(20_000, String(at))
  })
  await tails.keep(podOf('p'), 'server')
  const kept = tails.get('p')
  expect(kept).toHaveLength(64 * 1024)
  expect(kept?.subarray(-20_000).equals(Buffer.alloc(20_000, '9'))).toBe(true)
  clock.advance(10 * 60_000)
  expect(tails.get('p')).toBeUndefined()
})

test('sends one request to a node that does not respond, and does not throw', async () => {
  const { tails, reads } = start(async function* () {
    yield Buffer.from('part')
    throw new KubeError({ message: 'silence', status: 0, reason: 'Timeout' })
  })
  for (let at = 0; at < 3; at += 1) await tails.keep(podOf('p'), 'server')
  expect([reads(), tails.get('p')]).toEqual([1, undefined])
})

test('at most 8 logs are read at the same time; others are not kept', async () => {
  const gates: (() => void)[] = []
  const { tails, reads } = start(async function* () {
    await new Promise<void>((resolve) => gates.push(resolve))
    yield Buffer.from('end')
  })
  const keeping = Array.from({ length: 20 }, (_, at) => tails.keep(podOf(`p${at}`), 'server'))
  await Promise.all(keeping.slice(8))
  for (const open of gates) open()
  await Promise.all(keeping)
  expect([reads(), tails.get('p7')?.toString(), tails.get('p8')]).toEqual([8, 'end', undefined])
})

test('at most 128 tails are in memory; the oldest is dropped first', async () => {
  const { tails } = start(async function* () {
    yield Buffer.from('end')
  })
  for (let at = 0; at < 129; at += 1) await tails.keep(podOf(`p${at}`), 'server')
  expect([tails.get('p0'), tails.get('p1')?.toString(), tails.get('p128')?.toString()]).toEqual([
    undefined,
    'end',
    'end',
  ])
})

test.each([
  ['all lines are long', 4_000, 64 * 1024],
  ['the last ones are short', 100, 128 * 101],
])('a log of long lines is read again with fewer of them, so that its end is kept: %s', async (_, last, size) => {
  const log = Array.from({ length: 3_000 }, (_, at) => `${String(at).padStart(at < 2_872 ? 4_000 : last)}\n`)
  const { tails, reads } = start(async function* ({ query }) {
    const end = Buffer.from(log.slice(-Number(query.tailLines)).join(''))
    yield end.subarray(0, Number(query.limitBytes))
  })
  await tails.keep(podOf('p'), 'server')
  expect(tails.get('p')?.toString()).toBe(log.join('').slice(-size))
  expect(reads()).toBe(2)
})

test('a log without an end is read up to 1 MiB, three times at most, and 64 KiB of it are in memory', async () => {
  let bytes = 0
  let ended = 0
  const { tails, reads } = start(async function* () {
    try {
      for (;;) {
        bytes += 100_000
        yield Buffer.alloc(100_000, 'x')
      }
    } finally {
      ended += 1
    }
  })
  await tails.keep(podOf('p'), 'server')
  const kept = tails.get('p')
  // A view of a larger buffer would keep all of it.
  expect([kept?.length, kept?.buffer.byteLength]).toEqual([64 * 1024, 64 * 1024])
  expect([reads(), ended, bytes]).toEqual([3, 3, 3 * 1_100_000])
})

test('a node that stays silent in the middle of a log delays the deletion by 2 s', async () => {
  const server = await startScriptedServer({ others: [openStream('part')] })
  const transport = createTransport({ credentials: server.credentials, userAgent: 'test' })
  const tails = createTails({ transport, clock: systemClock, log })
  const startedMs = performance.now()
  await tails.keep(podOf('p'), 'server')
  const durationMs = performance.now() - startedMs
  expect(durationMs).toBeGreaterThan(1_900)
  expectWithin(durationMs, 4_000)
  expect(tails.get('p')).toBeUndefined()
  expect(server.received[0]).toMatchObject({ path: '/api/v1/namespaces/a/pods/w/log', query: { tailLines: '2048' } })
  await transport.close()
  await server.close()
})
