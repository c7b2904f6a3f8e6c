import { expect, test } from 'vitest'
import { fc } from '#test/support/fastCheck.ts'
import {
  createPending,
  dequeueFrames,
  type Frame,
  frameCount,
  isEmpty,
  maxPendingBytes,
  offerNotice,
  offerUpdate,
  removeUpdates,
} from './pending.ts'

const aFrame = (bytes: string | Buffer): Frame => ({
  bytes: typeof bytes === 'string' ? Buffer.from(bytes) : bytes,
  writtenMs: undefined,
})
const texts = (pending: ReturnType<typeof createPending<string>>, room = Number.MAX_SAFE_INTEGER): string[] =>
  dequeueFrames(pending, room).map(({ bytes }) => bytes.toString())

test('keeps every update in order, after notices, for a client that keeps up', () => {
  const pending = createPending<string>()
  for (const text of ['1', '2', '3']) offerUpdate(pending, 'a', aFrame(text), false)
  offerNotice(pending, aFrame('warning'))
  expect(texts(pending)).toEqual(['warning', '1', '2', '3'])
  expect(isEmpty(pending)).toBe(true)
  expect([pending.bytes, frameCount(pending)]).toEqual([0, 0])
})

test('keeps only the newest update of each document for a client that is behind', () => {
  const pending = createPending<string>()
  offerUpdate(pending, 'a', aFrame('a1'), false)
  offerUpdate(pending, 'a', aFrame('a2'), false)
  offerUpdate(pending, 'b', aFrame('b1'), true)
  expect(offerUpdate(pending, 'a', aFrame('a3'), true)).toEqual({ accepted: true, replaced: 2 })
  expect(texts(pending).sort()).toEqual(['a3', 'b1'])
})

test('keeps only the newest update of each document above 512 frames', () => {
  const pending = createPending<string>()
  for (let at = 0; at < 1_000; at += 1) offerUpdate(pending, 'a', aFrame(`${at}`), false)
  expect(frameCount(pending)).toBeLessThanOrEqual(512)
  expect(texts(pending).at(-1)).toBe('999')
})

test('refuses an update that does not fit, and accepts any single frame', () => {
  const pending = createPending<string>()
  const large = Buffer.alloc(maxPendingBytes + 1)
  expect(offerUpdate(pending, 'a', aFrame(large), false)).toEqual({ accepted: true, replaced: 0 })
  expect(offerUpdate(pending, 'b', aFrame('b1'), false)).toEqual({ accepted: false, replaced: 0 })
  expect(offerUpdate(pending, 'a', aFrame('a2'), false)).toEqual({ accepted: true, replaced: 1 })
  offerUpdate(pending, 'b', aFrame('b2'), false)
  expect(offerUpdate(pending, 'b', aFrame(large), false)).toEqual({ accepted: false, replaced: 1 })
  expect(texts(pending)).toEqual(['a2'])
})

test('refuses more than 256 notices', () => {
  const pending = createPending<string>()
  const answers = Array.from({ length: 257 }, () => offerNotice(pending, aFrame('warning')))
  expect(answers.indexOf(false)).toBe(256)
})

test('keeps the order of frames that do not fit', () => {
  const pending = createPending<string>()
  for (const text of ['1', '2', '3']) offerUpdate(pending, 'a', aFrame(text), false)
  const taken = texts(pending, 1)
  expect(taken).toEqual(['1', '2'])
  offerUpdate(pending, 'a', aFrame('4'), false)
  expect([...taken, ...texts(pending)]).toEqual(['1', '2', '3', '4'])
})

test('keeps versions in order, counts exact and memory bounded for any sequence of operations', () => {
  const step = fc.oneof(
    fc.record({ what: fc.constant('offer' as const), key: fc.nat(3), behind: fc.boolean(), size: fc.nat(400_000) }),
    fc.record({ what: fc.constant('take' as const), room: fc.nat(800_000) }),
    fc.record({ what: fc.constant('remove' as const), key: fc.nat(3) }),
  )
  const zeros = Buffer.alloc(400_000)
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const pending = createPending<number>()
      const versions = new Map<Frame, [number, number]>()
      const newest = new Map<number, number>()
      for (const [version, each] of steps.entries()) {
        if (each.what === 'offer') {
          const frame = aFrame(zeros.subarray(0, each.size))
          versions.set(frame, [each.key, version])
          offerUpdate(pending, each.key, frame, each.behind)
        } else if (each.what === 'remove') removeUpdates(pending, each.key)
        else {
          for (const frame of dequeueFrames(pending, each.room)) {
            const [key, of] = versions.get(frame) ?? [-1, -1]
            expect(of).toBeGreaterThan(newest.get(key) ?? -1)
            newest.set(key, of)
          }
        }
        expect(pending.keys).toEqual(pending.updates.map((frame) => versions.get(frame)?.[0]))
        expect(pending.bytes).toBe(pending.updates.reduce((sum, { bytes }) => sum + bytes.length, 0))
        expect(pending.bytes).toBeLessThanOrEqual(maxPendingBytes)
      }
    }),
    { numRuns: 300 },
  )
})
