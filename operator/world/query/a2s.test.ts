import { describe, expect, test } from 'vitest'
import { converse, hex } from '#operator/testing/exchange.ts'
import { fc } from '#test/support/fastCheck.ts'
import { beginA2S } from './a2s.ts'
import type { ServerReport } from './answer.ts'
import { joinBytes } from './bytes.ts'
import { maxAnswerBytes } from './exchange.ts'

const begin = () => beginA2S({ host: '10.0.0.1', port: 27_015, random: () => 0 })
const ask = (...packets: Uint8Array[]) => converse(begin(), packets).last
const text = (words: string) => new TextEncoder().encode(words)

// Valve developer wiki, "Server queries", A2S_INFO: Counter-Strike: Source.
const counterStrikeSource = hex(`
  ffffffff4902 67616d653278732e636f6d20436f756e7465722d537472696b6520536f75726365202331 00 64655f64757374 00
  63737472696b65 00 436f756e7465722d537472696b653a20536f75726365 00 f000 05 10 04 646c0000 312e302e302e3232 00`)
// Valve developer wiki, "Server queries", A2S_INFO: The Ship.
const theShip = hex(`
  ffffffff4907 5368697020536572766572 00 6261746176696572 00 73686970 00 5468652053686970 00
  6009 01 05 00 6c770000 010303 312e302e302e34 00`)
// Valve developer wiki, "Server queries", A2S_INFO: SiN 1 Multiplayer.
const sin = hex(`
  ffffffff492f 53656e73656d616e6e2053694e20444d 00 70617261646f78 00 53694e2031 00 53694e2031 00
  1d05 00 10 00 6c770000 312e302e302e30 00`)
// thegamecracks/little-a2s, test data: Rag Doll Kung Fu, whose type of server is 0.
const ragDoll = hex(`
  ffffffff49fc 5468652044756465277320646f6a6f 00 536f63636572 00 52444b46536f63636572 00
  526167446f6c6c4b756e6746753a20536f63636572 00 ea03 01 04 00 00770000 322e332e302e30 00`)
// Valve developer wiki, "Server queries", obsolete GoldSource response: Counter-Strike.
const goldSource = hex(`
  ffffffff6d 37372e3131312e3139342e3131303a3237303135 00
  4652202d20566572794 7616d65732e6e6574202d20446561746d61746368202d206f6e6c7920737572665f736b69202d206e6752 00
  737572665f736b69 00 63737472696b65 00 436f756e7465722d537472696b65 00 0c 12 2f 646c 00
  01 7777772e636f756e7465722d737472696b652e6e6574 00 00 00 01000000 009ef70a 00 01 01 00`)
// thegamecracks/little-a2s, test data: Project Zomboid, with extra data.
const projectZomboid = hex(`
  ffffffff4911 706c61792e74686567616d65637261636b732e78797a 00 4d756c64726175 67682c204b59 00 7a6f6d626f6964 00
  50726f6a656374205a6f6d626f6964 00 0000 00 08 00 646c0101 312e302e302e30 00 b1 853f 1fb032cddfb94001 00 38a8010000000000`)
// thegamecracks/little-a2s, test data: Arma 3, with extra data, whose keywords are shortened here.
const arma = hex(`
  ffffffff4911 57617272696f727320486176656e20496e7661646520262 0416e6e6578207c20646973636f72642e67672f39754e486876684a5642 00
  456e6f6368 00 41726d6133 00 57617272696f727320486176656e204672616d65776f726b20284c69766f6e696129 00
  0000 00 28 00 64770000 322e32302e313533333638 00 b1 0209 05488ca007ba4001 62742c723232302c 00 92a3010000000000`)
// thegamecracks/little-a2s, test data: a challenge.
const aChallenge = hex('ffffffff41 4ba1d522')

const reports: [string, Uint8Array, ServerReport][] = [
  [
    'Counter-Strike: Source',
    counterStrikeSource,
    { players: 5, bots: 4, capacity: 16, map: 'de_dust', version: '1.0.0.22' },
  ],
  ['The Ship', theShip, { players: 1, bots: 0, capacity: 5, map: 'batavier', version: '1.0.0.4' }],
  ['SiN 1', sin, { players: 0, bots: 0, capacity: 16, map: 'paradox', version: '1.0.0.0' }],
  ['Rag Doll Kung Fu', ragDoll, { players: 1, bots: 0, capacity: 4, map: 'Soccer', version: '2.3.0.0' }],
  ['a GoldSource server', goldSource, { players: 12, bots: 0, capacity: 18, map: 'surf_ski' }],
  ['Project Zomboid', projectZomboid, { players: 0, bots: 0, capacity: 8, map: 'Muldraugh, KY', version: '1.0.0.0' }],
  ['Arma 3', arma, { players: 0, bots: 0, capacity: 40, map: 'Enoch', version: '2.20.153368' }],
]

/** Splits an answer into packets of the Source form. The last packets may be empty. */
const split = (answer: Uint8Array, total: number, { id = 7, length = Math.ceil(answer.length / total) } = {}) =>
  Array.from({ length: total }, (_, index) =>
    joinBytes([
      hex('feffffff'),
      Uint8Array.of(id, id >>> 8, id >>> 16, id >>> 24, total, index, 0xe0, 0x04),
      answer.slice(index * length, index === total - 1 ? undefined : (index + 1) * length),
    ]),
  )

describe('an A2S question', () => {
  test('is the request A2S_INFO', () => {
    expect(begin().packet).toEqual(hex('ffffffff54536f7572636520456e67696e6520517565727900'))
  })

  test.each(reports)('reads the answer of %s', (_, answer, report) => {
    expect(ask(answer)).toEqual({ kind: 'report', report })
  })

  test('reads an answer with the protocol 0', () => {
    const answer = counterStrikeSource.map((byte, index) => (index === 5 ? 0 : byte))
    expect(ask(answer)).toEqual({ kind: 'report', report: reports[0]?.[2] })
  })

  test('reads the GoldSource answer of a game without a mod', () => {
    const game = joinBytes([
      hex('ffffffff6d'),
      text('a\0n\0crossfire\0valve\0Half-Life\0'),
      hex('0310 2f646c00 00 01 02'),
    ])
    expect(ask(game)).toEqual({ kind: 'report', report: { players: 3, bots: 2, capacity: 16, map: 'crossfire' } })
  })

  test('is repeated with the challenge of the server', () => {
    const { last, sent } = converse(begin(), [aChallenge, counterStrikeSource])
    expect(sent).toEqual([begin().packet, joinBytes([begin().packet, hex('4ba1d522')])])
    expect(last.kind).toBe('report')
  })

  test('is repeated once more with a second challenge, and ends with the third one', () => {
    const { last, sent } = converse(begin(), [aChallenge, hex('ffffffff4101020304'), aChallenge])
    expect(sent.slice(1)).toEqual([
      joinBytes([begin().packet, hex('4ba1d522')]),
      joinBytes([begin().packet, hex('01020304')]),
    ])
    expect(last).toEqual({ kind: 'fault', fault: 'is a challenge again, after 2 that were answered' })
  })

  test('waits for all packets of a split answer, in any order and with copies', () => {
    const [first, second, third] = split(counterStrikeSource, 3)
    const exchange = begin()
    for (const part of [third, third, first, third, first])
      expect(exchange.receive(part as Uint8Array)).toEqual({ kind: 'more' })
    expect(exchange.receive(second as Uint8Array)).toEqual({ kind: 'report', report: reports[0]?.[2] })
  })

  test('reads an answer of 16 packets, and ignores the packets of another answer', () => {
    const others = split(theShip, 2, { id: 8 })
    const own = split(counterStrikeSource, 16)
    expect(ask(own[0] as Uint8Array, ...others, ...own.slice(1))).toEqual({ kind: 'report', report: reports[0]?.[2] })
  })

  const compressed = split(counterStrikeSource, 2, { id: 0x8000_0007 })
  const part = (total: number, index: number) =>
    joinBytes([hex('feffffff07000000'), Uint8Array.of(total, index), hex('e004'), counterStrikeSource])

  test.each<[string, string, Uint8Array[]]>([
    ['no bytes', 'has 0 bytes and ends before its header', [hex('')]],
    ['half a header', 'has 3 bytes and ends before its header', [hex('ffffff')]],
    ['a header alone', 'has 4 bytes and ends before its type', [hex('ffffffff')]],
    ['another protocol', 'has no header of A2S', [text('HTTP/1.1 400 Bad Request\r\n')]],
    ['another answer of A2S', 'is of type 0x44, which is not one of A2S_INFO', [hex('ffffffff4400')]],
    ['a type below 0x10', 'is of type 0x01, which is not one of A2S_INFO', [hex('ffffffff01')]],
    ['a cut challenge', 'has 8 bytes and ends before the end of the challenge', [hex('ffffffff41010203')]],
    ['cut texts', 'has 9 bytes and ends before the end of the name', [hex('ffffffff49 11 616263')]],
    [
      'no players',
      'has 16 bytes and ends before the number of players',
      [joinBytes([hex('ffffffff49 11'), text('n\0m\0f\0g\0'), hex('f000')])],
    ],
    [
      'The Ship without its settings',
      'has 52 bytes and ends before the end of the settings of The Ship',
      [theShip.slice(0, 52)],
    ],
    [
      'no end of the version',
      'has 99 bytes and ends before the end of the version',
      [counterStrikeSource.slice(0, -1)],
    ],
    ['a compressed answer', 'is compressed with bzip2, which is not supported', compressed],
    ['a cut part', 'has 10 bytes and ends before the end of the size of the packets', [hex('feffffff 07000000 02 00')]],
    ['too many parts', 'has 17 packets, and the maximum is 16', [part(17, 0)]],
    ['a part past the last one', 'has the packet 3 of 2', [part(2, 2)]],
    ['a part of nothing', 'has the packet 1 of 0', [part(0, 0)]],
    ['two numbers of parts', 'announces 2 packets, and then 3', [part(2, 0), part(3, 1)]],
    ['parts of another protocol', 'is split and has no header of A2S', split(text('HTTP/1.1 400'), 2)],
    ['parts within parts', 'is split and has no header of A2S', split(part(1, 0), 2)],
    [
      'parts that are cut together',
      'has 99 bytes and ends before the end of the version',
      split(counterStrikeSource.slice(0, -1), 2),
    ],
    ['too many bytes', 'has more than 65536 bytes', [joinBytes([counterStrikeSource, new Uint8Array(maxAnswerBytes)])]],
    ['too many bytes in parts', 'has more than 65536 bytes', split(new Uint8Array(maxAnswerBytes), 16)],
    ['endless copies of a part', 'has more than 64 packets', Array.from({ length: 65 }, () => part(2, 0))],
  ])('refuses %s', (_, fault, packets) => {
    expect(ask(...packets)).toEqual({ kind: 'fault', fault })
  })

  test('is not answered by the packets of other split answers, and ends after 64 of them', () => {
    const others = Array.from({ length: 70 }, (_, at) => split(theShip, 2, { id: at + 100 })[0] as Uint8Array)
    const exchange = begin()
    const steps = others.map((packet) => exchange.receive(packet))
    expect(steps.slice(0, 64).every(({ kind }) => kind === 'more')).toBe(true)
    expect(steps[64]).toEqual({ kind: 'fault', fault: 'has more than 64 packets' })
  })
})

describe('whatever a server sends', () => {
  const anything = fc.uint8Array({ maxLength: 200 })
  const startsWith = (...heads: string[]) =>
    fc.tuple(fc.constantFrom(...heads.map(hex)), anything).map(([head, bytes]) => joinBytes([head, bytes]))
  const damaged = fc
    .tuple(fc.constantFrom(...reports.map(([, answer]) => answer)), fc.nat(), fc.nat(255))
    .map(([answer, at, byte]) => answer.map((each, index) => (index === at % answer.length ? byte : each)))
  const aPacket = fc.oneof(
    anything,
    startsWith('ffffffff49', 'ffffffff6d', 'ffffffff41', 'ffffffff4960090105'),
    startsWith(
      'feffffff070000000200e004',
      'feffffff070000000201e004',
      'feffffff070000000200e004ffffffff49',
      'feffffff',
    ),
    damaged,
  )

  test('an exchange throws nothing, sends at most two packets and ends within 65', () => {
    const property = fc.property(fc.array(aPacket, { minLength: 1, maxLength: 6 }), (packets) => {
      const endless = Array.from({ length: 65 }, (_, at) => packets[at % packets.length] as Uint8Array)
      const { last, sent } = converse(begin(), endless)
      expect(['report', 'fault']).toContain(last.kind)
      expect(sent.length).toBeLessThanOrEqual(3)
    })
    fc.assert(property, { numRuns: 1_000 })
  })

  test('no text of a report is longer than the packets', () => {
    const property = fc.property(fc.array(aPacket, { minLength: 1, maxLength: 6 }), (packets) => {
      const { last } = converse(begin(), packets)
      if (last.kind !== 'report') return
      const { map = '', version = '' } = last.report
      expect(map.length + version.length).toBeLessThanOrEqual(joinBytes(packets).length)
    })
    fc.assert(property, { numRuns: 1_000 })
  })

  test('a cut answer is a fault, and never a report', () => {
    for (const [, answer, { version }] of reports) {
      const needed =
        version === undefined ? answer.length : Buffer.from(answer).indexOf(`${version}\0`) + version.length + 1
      for (let length = 0; length < needed; length += 1) expect(ask(answer.slice(0, length)).kind).toBe('fault')
    }
  })

  test('a split answer gives the report of the whole one, in any order, with copies and other answers', () => {
    const property = fc.property(
      fc.constantFrom(...reports),
      fc.integer({ min: 1, max: 16 }),
      fc.nat(40),
      fc.infiniteStream(fc.nat()),
      ([, answer, report], total, length, order) => {
        const packets = split(answer, total, { length: Math.max(1, length) })
        const copies = [...packets, ...packets, ...split(sin, 2, { id: 9 })]
        const shuffled = copies
          .map((packet) => ({ packet, place: order.next().value }))
          .sort((a, b) => a.place - b.place)
        const first = packets[0] as Uint8Array
        expect(ask(first, ...shuffled.map(({ packet }) => packet))).toEqual({ kind: 'report', report })
      },
    )
    fc.assert(property, { numRuns: 500 })
  })

  test('a split answer without one of its packets gives nothing', () => {
    const property = fc.property(
      fc.constantFrom(...reports),
      fc.integer({ min: 2, max: 16 }),
      fc.nat(),
      ([, answer], total, lost) => {
        const packets = split(answer, total).filter((_, index) => index !== lost % total)
        expect(ask(...packets, ...packets)).toEqual({ kind: 'more' })
      },
    )
    fc.assert(property)
  })
})
