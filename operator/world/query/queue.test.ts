import { expect, test } from 'vitest'
import { worldStatusSchema } from '#shared/resources/world.ts'
import { fc } from '#test/support/fastCheck.ts'
import type { ServerReport } from './answer.ts'
import { toQueue } from './queue.ts'

test('shows a plausible report as it is, without its bots', () => {
  const report = { players: 12, bots: 2, queued: 3, capacity: 64, version: '1.21.8', map: 'de_dust2' }
  expect(toQueue(report, 64)).toEqual({
    queue: { active: 10, queued: 3, capacity: 64, version: '1.21.8', map: 'de_dust2' },
  })
  expect(toQueue({ players: 0 }, 64)).toEqual({ queue: { active: 0, queued: 0 } })
})

test.each<[ServerReport, number, string]>([
  [
    { players: 300 },
    64,
    'The server reported 300 players, more than the capacity of 64 of the world, so 64 are shown.',
  ],
  [{ players: -3 }, 0, 'The server reported -3 players, so 0 are shown.'],
  [{ players: Number.NaN }, 0, 'The server reported NaN players, so 0 are shown.'],
  [{ players: 2.5 }, 2, 'The server reported 2.5 players, so 2 are shown.'],
  [
    { players: Number.POSITIVE_INFINITY },
    64,
    'The server reported Infinity players, more than the capacity of 64 of the world, so 64 are shown.',
  ],
  [{ players: 3, bots: 5 }, 0, 'The server reported 3 players with 5 bots among them, so 0 are shown.'],
  [{ players: 1, queued: -1 }, 1, 'The server reported -1 waiting players, so 0 are shown.'],
  [{ players: 1, capacity: 1e300 }, 1, 'The server reported a capacity of 1e+300, so 1000000 is shown.'],
])('corrects %j, and says so', (report, active, note) => {
  const corrected = toQueue(report, 64)
  expect([corrected.queue.active, corrected.note]).toEqual([active, note])
})

test.each<[boolean, ServerReport]>([
  [true, { players: -3 }],
  [true, { players: Number.NaN }],
  [true, { players: 0.5 }],
  [true, { players: 3, bots: 5 }],
  [true, { players: 0, queued: -1 }],
  [true, { players: 0, queued: Number.NaN }],
  [false, { players: 0 }],
  [false, { players: 300 }],
  [false, { players: 5, bots: 5, queued: 0 }],
  [false, { players: 0, queued: Number.POSITIVE_INFINITY }],
  [false, { players: 0, capacity: -1 }],
])('is uncertain (%s) if a number of players is shown as 0 although the report differs: %j', (expected, report) => {
  expect(toQueue(report, 64).isUncertain ?? false).toBe(expected)
})

test.each([
  ['§aGreen§r hill', 'Green hill'],
  ['two\r\n lines\u2028', 'two lines'],
  ['a\u202eb\u200bc\ufeff', 'abc'],
  ['\ud800x', '\ufffdx'],
  ['x'.repeat(100), 'x'.repeat(64)],
  ['\u{1f600}'.repeat(100), '\u{1f600}'.repeat(64)],
  ['\u0000 \t', undefined],
  ['', undefined],
])('cleans the text %j', (map, shown) => {
  expect(toQueue({ players: 0, map, version: map }, 1).queue).toEqual({
    active: 0,
    queued: 0,
    ...(shown !== undefined && { map: shown, version: shown }),
  })
})

test('shows a queue that the definition accepts, whatever a server reports', () => {
  const number = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(Number.NaN, 1e308, -0, 2 ** 31))
  const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 200 }), fc.constant('\ud800'.repeat(100)))
  const report = fc.record(
    { players: number, bots: number, queued: number, capacity: number, version: text, map: text },
    { requiredKeys: ['players'] },
  )
  fc.assert(
    fc.property(report, fc.integer({ min: 1, max: 10_000 }), (reported, capacity) => {
      const { queue } = toQueue(reported, capacity)
      expect(worldStatusSchema.parse({ queue }).queue).toEqual(queue)
      expect(queue.active).toBeLessThanOrEqual(capacity)
      expect(`${queue.map}${queue.version}`).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    }),
  )
})
