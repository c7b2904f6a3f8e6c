import { expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { aConnection, createFakePeer } from '#test/support/fakePeer.ts'
import { createFlusher } from './flusher.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))
const createTestFlusher = () => {
  const clock = createFakeClock()
  const flushed: unknown[] = []
  return { clock, flushed, flusher: createFlusher(clock, (connection) => flushed.push(connection)) }
}
const one = () => aConnection(createFakePeer().peer)

test('flushes each connection once for all requests within two milliseconds', () => {
  const { clock, flushed, flusher } = createTestFlusher()
  const [a, b] = [one(), one()]
  for (const each of [a, b, a, a]) flusher.schedule(each)
  clock.advance(1)
  expect(flushed).toEqual([])
  flusher.schedule(b)
  clock.advance(1)
  expect(flushed).toEqual([a, b])
  expect(clock.pending).toBe(0)
})

test('does not flush a connection that waits for a drain', () => {
  const { clock, flushed, flusher } = createTestFlusher()
  const full = one()
  full.waitsForDrain = true
  flusher.schedule(full)
  clock.advance(1_000)
  expect(flushed).toEqual([])
  full.waitsForDrain = false
  flusher.schedule(full)
  clock.advance(2)
  expect(flushed).toEqual([full])
})

test('yields to the event loop after 2 ms', async () => {
  const { clock, flushed } = createTestFlusher()
  let nowMs = 0
  const flusher = createFlusher({ ...clock, monotonic: () => nowMs }, (connection) => {
    flushed.push(connection)
    nowMs += 1 / 256
  })
  for (let at = 0; at < 1_200; at += 1) flusher.schedule(one())
  clock.advance(2)
  expect(flushed).toHaveLength(512)
  const late = one()
  flusher.schedule(late)
  await turn()
  expect(flushed).toHaveLength(1_024)
  await turn()
  expect(flushed).toHaveLength(1_200)
  clock.advance(2)
  expect(flushed.at(-1)).toBe(late)
})
