import { describe, expect, test } from 'vitest'
import { converse, hex } from '#operator/testing/exchange.ts'
import { fc } from '#test/support/fastCheck.ts'
import type { ServerReport } from './answer.ts'
import { joinBytes } from './bytes.ts'
import { maxAnswerBytes } from './exchange.ts'
import { beginSqp } from './sqp.ts'

const begin = () => beginSqp({ host: '10.0.0.1', port: 9000, random: () => 0 })
const ask = (...packets: Uint8Array[]) => converse(begin(), packets).last

// Multiplay, "Server Queries", example ChallengeResponse and example QueryResponse with ServerInfo, each with its own token.
const aChallenge = hex('00 80902348')
const unrealToken = hex('00 c07a6c3d')
const unreal = hex(`
  01 c07a6c3d 0001 00 00 005b 00000057 0000 0010 14 55453420446564696361746564205365727665 72
  2e 2f5363726970742f53686f6f74657247616d652e53686f6f74657247616d655f5465616d44656174684d61746368
  03 303031 08 4869676872697365 1e61`)
const unrealReport: ServerReport = { players: 0, capacity: 16, version: '001', map: 'Highrise' }

const text = (words: string) => {
  const bytes = new TextEncoder().encode(words)
  return joinBytes([Uint8Array.of(bytes.length), bytes])
}
const short = (number: number) => Uint8Array.of(number >>> 8, number)
const long = (number: number) => Uint8Array.of(number >>> 24, number >>> 16, number >>> 8, number)

/** The chunk ServerInfo with its length, of a server with 5 of 10 players. */
const chunk = ({ length = 0, version = '1.2', map = 'dust', more = hex('') } = {}) => {
  const fields = joinBytes([
    short(5),
    short(10),
    text('my server'),
    text('ctf'),
    text(version),
    text(map),
    short(1025),
    more,
  ])
  return joinBytes([long(fields.length + length), fields])
}
const report: ServerReport = { players: 5, capacity: 10, version: '1.2', map: 'dust' }

/** A QueryResponse. `last` is the index of the last packet. */
const response = (
  bytes: Uint8Array,
  { index = 0, last = 0, length = bytes.length, token = '80902348', version = 1 } = {},
) => joinBytes([hex('01'), hex(token), short(version), Uint8Array.of(index, last), short(length), bytes])

/** Splits a chunk into packets. The last ones may be empty. */
const split = (bytes: Uint8Array, total: number, length = Math.ceil(bytes.length / total)) =>
  Array.from({ length: total }, (_, index) => {
    const part = bytes.slice(index * length, index === total - 1 ? undefined : (index + 1) * length)
    return response(part, { index, last: total - 1 })
  })

describe('an SQP question', () => {
  test('asks for a token, and with the token for ServerInfo', () => {
    const { sent } = converse(begin(), [aChallenge])
    expect(sent).toEqual([hex('00 00000000'), hex('01 80902348 0001 01')])
  })

  test('reads the answer of an Unreal server', () => {
    expect(ask(unrealToken, unreal)).toEqual({ kind: 'report', report: unrealReport })
  })

  test('reads an answer without texts', () => {
    const empty = response(joinBytes([long(10), short(65_535), short(0), new Uint8Array(6)]))
    expect(ask(aChallenge, empty)).toEqual({
      kind: 'report',
      report: { players: 65_535, capacity: 0, version: '', map: '' },
    })
  })

  test('reads texts of 255 bytes in UTF-8', () => {
    const map = 'é'.repeat(127)
    const version = 'x'.repeat(255)
    expect(ask(aChallenge, response(chunk({ map, version })))).toEqual({
      kind: 'report',
      report: { ...report, map, version },
    })
  })

  test('ignores fields, chunks and bytes of later versions', () => {
    const chunks = joinBytes([chunk({ more: hex('010203') }), long(1), hex('00')])
    const packet = joinBytes([response(chunks, { version: 2 }), hex('ffff')])
    expect(ask(aChallenge, packet)).toEqual({ kind: 'report', report })
  })

  test('ignores answers before the token, answers with another token, and further tokens', () => {
    const other = response(chunk({ map: 'other' }), { token: '80902349' })
    const { last, sent } = converse(begin(), [other, aChallenge, other, unrealToken, aChallenge, response(chunk())])
    expect(last).toEqual({ kind: 'report', report })
    expect(sent).toHaveLength(2)
  })

  test('takes the token 0 for a token', () => {
    const { last, sent } = converse(begin(), [
      hex('00 00000000'),
      hex('00 00000000'),
      response(chunk(), { token: '00000000' }),
    ])
    expect(last).toEqual({ kind: 'report', report })
    expect(sent.slice(1)).toEqual([hex('01 00000000 0001 01')])
  })

  test('waits for all packets of a split answer, in any order and with copies', () => {
    const [first, second, third] = split(chunk(), 3)
    const exchange = begin()
    exchange.receive(aChallenge)
    for (const part of [third, third, first, third, first])
      expect(exchange.receive(part as Uint8Array)).toEqual({ kind: 'more' })
    expect(exchange.receive(second as Uint8Array)).toEqual({ kind: 'report', report })
  })

  test('reads an answer of 16 packets', () => {
    expect(ask(aChallenge, ...split(chunk(), 16))).toEqual({ kind: 'report', report })
  })

  test.each<[string, string, Uint8Array[]]>([
    ['no bytes', 'has 0 bytes and ends before its type', [hex('')]],
    ['another protocol', 'is of type 255, which is not one of SQP', [hex('ffffffff49')]],
    ['a cut token', 'has 4 bytes and ends before the token', [hex('00 809023')]],
    ['a type alone', 'has 1 byte and ends before the token', [aChallenge, hex('01')]],
    [
      'a cut header',
      'has 8 bytes and ends before the number of the last packet',
      [aChallenge, hex('01 80902348 0001 00')],
    ],
    [
      'a length past the end',
      'has 13 bytes and ends before the end of the packet',
      [aChallenge, response(hex('0000'), { length: 65_535 })],
    ],
    [
      'an answer without a chunk',
      'has 0 bytes and ends before the length of ServerInfo',
      [aChallenge, response(hex(''))],
    ],
    [
      'a chunk past the end',
      'has 33 bytes and ends before the end of ServerInfo',
      [aChallenge, response(chunk({ length: 1 }))],
    ],
    ['a chunk of 4 GB', 'has 4 bytes and ends before the end of ServerInfo', [aChallenge, response(hex('ffffffff'))]],
    [
      'no players',
      'contains a ServerInfo that has 1 byte and ends before the number of players',
      [aChallenge, response(hex('00000001 00'))],
    ],
    [
      'a cut text',
      'contains a ServerInfo that has 7 bytes and ends before the end of the server name',
      [aChallenge, response(hex('00000007 0005 000a ff 6162'))],
    ],
    [
      'a chunk that ends before its fields',
      'contains a ServerInfo that has 28 bytes and ends before the port',
      [aChallenge, response(chunk({ length: -1 }))],
    ],
    ['too many packets', 'has 17 packets, and the maximum is 16', [aChallenge, response(chunk(), { last: 16 })]],
    ['a packet past the last one', 'has the packet 3 of 2', [aChallenge, response(chunk(), { index: 2, last: 1 })]],
    [
      'two numbers of packets',
      'announces 2 packets, and then 3',
      [aChallenge, response(chunk(), { last: 1 }), response(chunk(), { index: 1, last: 2 })],
    ],
    [
      'too many bytes',
      'has more than 65536 bytes',
      [aChallenge, joinBytes([response(chunk()), new Uint8Array(maxAnswerBytes)])],
    ],
    ['endless tokens', 'has more than 64 packets', Array.from({ length: 65 }, () => aChallenge)],
    [
      'endless answers with another token',
      'has more than 64 packets',
      [aChallenge, ...Array.from({ length: 64 }, () => unreal)],
    ],
  ])('refuses %s', (_, fault, packets) => {
    expect(ask(...packets)).toEqual({ kind: 'fault', fault })
  })
})

describe('whatever a server sends', () => {
  const anything = fc.uint8Array({ maxLength: 200 })
  const numbers = fc.record({ index: fc.nat(3), last: fc.nat(3), length: fc.oneof(fc.nat(65_535), fc.nat(40)) })
  const damaged = fc
    .tuple(fc.constantFrom(unreal, response(chunk()), aChallenge), fc.nat(), fc.nat(255))
    .map(([answer, at, byte]) => answer.map((each, index) => (index === at % answer.length ? byte : each)))
  const aPacket = fc.oneof(
    anything,
    damaged,
    fc.tuple(anything, numbers).map(([bytes, its]) => response(bytes, its)),
    fc.tuple(fc.nat(40), anything).map(([length, bytes]) => response(joinBytes([long(length), bytes]))),
  )
  const packets = fc
    .tuple(fc.constantFrom(aChallenge, unrealToken), fc.array(aPacket, { maxLength: 6 }))
    .map(([token, rest]) => [token, ...rest])

  test('an exchange throws nothing, sends one packet for a token and ends within 65', () => {
    const property = fc.property(packets, (some) => {
      const endless = Array.from({ length: 65 }, (_, at) => some[at % some.length] as Uint8Array)
      const { last, sent } = converse(begin(), endless)
      expect(['report', 'fault']).toContain(last.kind)
      expect(sent.length).toBeLessThanOrEqual(2)
    })
    fc.assert(property, { numRuns: 1_000 })
  })

  test('no text of a report is longer than the packets', () => {
    const property = fc.property(packets, (some) => {
      const { last } = converse(begin(), some)
      if (last.kind !== 'report') return
      const { map = '', version = '' } = last.report
      expect(map.length + version.length).toBeLessThanOrEqual(joinBytes(some).length)
    })
    fc.assert(property, { numRuns: 1_000 })
  })

  test('a cut answer is a fault, and never a report', () => {
    for (let length = 0; length < unreal.length; length += 1)
      expect(ask(unrealToken, unreal.slice(0, length)).kind).toBe('fault')
  })

  test('a split answer gives the report of the whole one, in any order and with copies', () => {
    const property = fc.property(
      fc.integer({ min: 1, max: 16 }),
      fc.integer({ min: 1, max: 20 }),
      fc.infiniteStream(fc.nat()),
      (total, length, order) => {
        const parts = split(chunk(), total, length)
        const shuffled = [...parts, ...parts]
          .map((packet) => ({ packet, place: order.next().value }))
          .sort((a, b) => a.place - b.place)
        expect(ask(aChallenge, ...shuffled.map(({ packet }) => packet))).toEqual({ kind: 'report', report })
      },
    )
    fc.assert(property, { numRuns: 500 })
  })

  test('a split answer without one of its packets gives nothing', () => {
    const property = fc.property(fc.integer({ min: 2, max: 16 }), fc.nat(), (total, lost) => {
      const parts = split(chunk(), total).filter((_, index) => index !== lost % total)
      expect(ask(aChallenge, ...parts, ...parts)).toEqual({ kind: 'more' })
    })
    fc.assert(property)
  })
})
