import { describe, expect, test } from 'vitest'
import { createCare, heard, messagesPerSecond, needOf, takeMalformed, takeToken } from './care.ts'

const seen = { ended: false, behind: false, buffered: 0, subscriptions: 1 }
const ping = { ping: true }
/** What a client needed, second by second. */
const needs = (care: ReturnType<typeof createCare>, { fromMs = 0, toMs = 0, more = {} }) => {
  const all: [number, unknown][] = []
  for (let nowMs = fromMs; nowMs <= toMs; nowMs += 1_000) {
    const need = needOf(care, { ...seen, ...more }, nowMs)
    if (need !== undefined) all.push([nowMs, need])
    if (need !== undefined && !('ping' in need)) break
  }
  return all
}

describe('a client', () => {
  test('is asked every 30 s whether it is there, and ended when it was silent for two pings', () => {
    expect(needs(createCare(0, 0), { toMs: 200_000 })).toEqual([
      [30_000, ping],
      [60_000, ping],
      [90_000, { terminate: 'silent' }],
    ])
  })

  test('that gives a sign of life goes on', () => {
    const care = createCare(0, 0)
    needs(care, { toMs: 89_000 })
    heard(care)
    expect(needs(care, { fromMs: 89_000, toMs: 120_000 })).toEqual([
      [90_000, ping],
      [120_000, ping],
    ])
  })

  test('that came together with others is asked at another moment than they', () => {
    const first = [0, 0.5, 0.9].map((jitter) => needs(createCare(0, jitter), { toMs: 30_000 })[0]?.[0])
    expect(first).toEqual([30_000, 15_000, 3_000])
  })

  test('that follows nothing for ten minutes is closed, counted from when it last followed something', () => {
    const idle = (fromMs: number) => {
      const care = createCare(0, 0)
      needs(care, { toMs: fromMs })
      const all = []
      for (let nowMs = fromMs; nowMs <= fromMs + 700_000; nowMs += 10_000) {
        heard(care)
        const need = needOf(care, { ...seen, subscriptions: 0 }, nowMs)
        if (need !== undefined && 'close' in need) all.push([nowMs, need])
        if (all.length > 0) break
      }
      return all
    }
    expect(idle(0)).toEqual([[610_000, { close: 'idle' }]])
    expect(idle(20_000)).toEqual([[630_000, { close: 'idle' }]])
  })

  test('that takes nothing for five seconds, and a second more for each 64 KiB, is cut off', () => {
    const care = createCare(0, 0)
    const stuck = { behind: true, buffered: 640_000 }
    expect(needs(care, { toMs: 29_000, more: stuck })).toEqual([[16_000, { terminate: 'stalled' }]])
  })

  test('that takes a little every few seconds is not cut off', () => {
    const care = createCare(0, 0)
    for (let at = 0; at < 29; at += 1) {
      expect(needOf(care, { ...seen, behind: true, buffered: 640_000 - 1_000 * Math.floor(at / 5) }, at * 1_000)).toBe(
        undefined,
      )
    }
  })

  test('that was told goodbye has five seconds to answer', () => {
    const care = createCare(0, 0)
    care.endedMs = 10_000
    expect(needs(care, { fromMs: 10_000, toMs: 60_000, more: { ended: true } })).toEqual([
      [16_000, { terminate: undefined }],
    ])
  })

  test('has 256 messages at once and then 50 a second', () => {
    const care = createCare(0, 0)
    const take = (count: number, nowMs: number): number =>
      Array.from({ length: count }, () => takeToken(care, nowMs)).filter((taken) => taken).length
    expect(take(300, 0)).toBe(256)
    expect(take(100, 1_000)).toBe(messagesPerSecond)
    expect(take(1_000, 3_600_000)).toBe(256)
  })

  test('has five malformed messages', () => {
    const care = createCare(0, 0)
    expect(Array.from({ length: 6 }, () => takeMalformed(care))).toEqual([true, true, true, true, true, false])
  })
})
