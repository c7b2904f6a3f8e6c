import { expect, test } from 'vitest'
import { aConnection, createFakePeer } from '#test/support/fakePeer.ts'
import { flush, highWaterBytes } from './connection.ts'
import { createFrameJoiner } from './join.ts'
import { type Frame, isEmpty, offerUpdate } from './pending.ts'

const aFrame = (of: string | number): Frame => ({
  bytes: typeof of === 'string' ? Buffer.from(of) : Buffer.alloc(of),
  writtenMs: undefined,
})

/** Creates a connection with pending frames, and records what is written to it. */
const waitingFor = (frames: readonly Frame[]) => {
  const wire = createFakePeer()
  const written: Buffer[] = []
  const connection = aConnection({ ...wire.peer, write: (bytes) => void written.push(bytes) })
  for (const frame of frames) offerUpdate(connection.pending, {} as never, frame, false)
  return { ...wire, connection, written }
}

test('writes all pending frames at once and shares the bytes between connections with the same frames', () => {
  const join = createFrameJoiner()
  const [a, b, c] = [aFrame('a'), aFrame('b'), aFrame('c')]
  const [one, two, other] = [waitingFor([a, b]), waitingFor([a, b]), waitingFor([a, c])]
  for (const { connection } of [one, two, other]) flush(connection, join, () => undefined)
  expect([one, two, other].map(({ written }) => written.join('|'))).toEqual(['ab', 'ab', 'ac'])
  expect(two.written[0]).toBe(one.written[0])
})

test('writes the rest without a drain event when the system accepts everything at once', () => {
  const { connection, written } = waitingFor([aFrame(highWaterBytes), aFrame(2), aFrame(3)])
  flush(connection, createFrameJoiner(), () => undefined)
  expect(written.reduce((sum, { length }) => sum + length, 0)).toBe(highWaterBytes + 5)
  expect([isEmpty(connection.pending), connection.waitsForDrain]).toEqual([true, false])
})

test('waits for the drain event when the system accepts nothing', () => {
  const { connection, written, fill, drain } = waitingFor([aFrame(2)])
  fill(highWaterBytes + 1)
  let asked = 0
  flush(connection, createFrameJoiner(), () => {
    asked += 1
  })
  expect([written.length, connection.waitsForDrain]).toEqual([0, true])
  drain()
  expect([asked, connection.waitsForDrain]).toEqual([1, false])
})
