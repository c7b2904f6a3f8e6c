import { describe, expect, test } from 'vitest'
import { consumeToken, countMalformed, createHealth, messagesPerSecond, nextAction, recordActivity } from './health.ts'

const seen = { ended: false, behind: false, buffered: 0, subscriptions: 1 }
const ping = { ping: true }
/** Returns the actions for a client with their times, checked once per second. */
const needs = (health: ReturnType<typeof createHealth>, { fromMs = 0, toMs = 0, more = {} }) => {
  const all: [number, unknown][] = []
  for (let nowMs = fromMs; nowMs <= toMs; nowMs += 1_000) {
    const need = nextAction(health, { ...seen, ...more }, nowMs)
    if (need !== undefined) all.push([nowMs, need])
    if (need !== undefined && !('ping' in need)) break
  }
  return all
}

describe('client health', () => {
  test('pings every 30 s and ends the connection after two unanswered pings', () => {
    expect(needs(createHealth(0, 0), { toMs: 200_000 })).toEqual([
      [30_000, ping],
      [60_000, ping],
      [90_000, { terminate: 'silent' }],
    ])
  })

  test('keeps a connection that answers', () => {
    const health = createHealth(0, 0)
    needs(health, { toMs: 89_000 })
    recordActivity(health)
    expect(needs(health, { fromMs: 89_000, toMs: 120_000 })).toEqual([
      [90_000, ping],
      [120_000, ping],
    ])
  })

  test('spreads the pings of clients that connect together', () => {
    const first = [0, 0.5, 0.9].map((jitter) => needs(createHealth(0, jitter), { toMs: 30_000 })[0]?.[0])
    expect(first).toEqual([30_000, 15_000, 3_000])
  })

  test('closes a connection ten minutes after its last subscription ended', () => {
    const idle = (fromMs: number) => {
      const health = createHealth(0, 0)
      needs(health, { toMs: fromMs })
      const all = []
      for (let nowMs = fromMs; nowMs <= fromMs + 700_000; nowMs += 10_000) {
        recordActivity(health)
        const need = nextAction(health, { ...seen, subscriptions: 0 }, nowMs)
        if (need !== undefined && 'close' in need) all.push([nowMs, need])
        if (all.length > 0) break
      }
      return all
    }
    expect(idle(0)).toEqual([[610_000, { close: 'idle' }]])
    expect(idle(20_000)).toEqual([[630_000, { close: 'idle' }]])
  })

  test('ends a connection that reads nothing for five seconds plus one second per 64 KiB', () => {
    const health = createHealth(0, 0)
    const stuck = { behind: true, buffered: 640_000 }
    expect(needs(health, { toMs: 29_000, more: stuck })).toEqual([[16_000, { terminate: 'stalled' }]])
  })

  test('keeps a connection that reads slowly', () => {
    const health = createHealth(0, 0)
    for (let at = 0; at < 29; at += 1) {
      expect(
        nextAction(health, { ...seen, behind: true, buffered: 640_000 - 1_000 * Math.floor(at / 5) }, at * 1_000),
      ).toBe(undefined)
    }
  })

  test('ends a connection that does not answer a close frame within five seconds', () => {
    const health = createHealth(0, 0)
    health.endedMs = 10_000
    expect(needs(health, { fromMs: 10_000, toMs: 60_000, more: { ended: true } })).toEqual([
      [16_000, { terminate: undefined }],
    ])
  })

  test('allows a burst of 256 messages and then 50 per second', () => {
    const health = createHealth(0, 0)
    const take = (count: number, nowMs: number): number =>
      Array.from({ length: count }, () => consumeToken(health, nowMs)).filter((taken) => taken).length
    expect(take(300, 0)).toBe(256)
    expect(take(100, 1_000)).toBe(messagesPerSecond)
    expect(take(1_000, 3_600_000)).toBe(256)
  })

  test('allows five malformed messages', () => {
    const health = createHealth(0, 0)
    expect(Array.from({ length: 6 }, () => countMalformed(health))).toEqual([true, true, true, true, true, false])
  })
})
