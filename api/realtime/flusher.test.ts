import { expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { aConnection, aFakePeer } from '#test/support/fakePeer.ts'
import { createFlusher } from './flusher.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))
const aFlusher = () => {
  const clock = createFakeClock()
  const flushed: unknown[] = []
  return { clock, flushed, flusher: createFlusher(clock, (connection) => flushed.push(connection)) }
}
const one = () => aConnection(aFakePeer().peer)

test('what several ask for within two milliseconds is one flush of each', () => {
  const { clock, flushed, flusher } = aFlusher()
  const [a, b] = [one(), one()]
  for (const each of [a, b, a, a]) flusher.want(each)
  clock.advance(1)
  expect(flushed).toEqual([])
  flusher.want(b)
  clock.advance(1)
  expect(flushed).toEqual([a, b])
  expect(clock.pending).toBe(0)
})

test('who waits for room is not flushed before there is some', () => {
  const { clock, flushed, flusher } = aFlusher()
  const full = one()
  full.waitsForDrain = true
  flusher.want(full)
  clock.advance(1_000)
  expect(flushed).toEqual([])
  full.waitsForDrain = false
  flusher.want(full)
  clock.advance(2)
  expect(flushed).toEqual([full])
})

test('after a thousand connections other work gets its turn, and the rest follows', async () => {
  const { clock, flushed, flusher } = aFlusher()
  for (let at = 0; at < 2_500; at += 1) flusher.want(one())
  clock.advance(2)
  expect(flushed).toHaveLength(1_000)
  const late = one()
  flusher.want(late)
  await turn()
  expect(flushed).toHaveLength(2_000)
  await turn()
  expect(flushed).toHaveLength(2_500)
  clock.advance(2)
  expect(flushed.at(-1)).toBe(late)
})
