import { describe, expect, test } from 'vitest'
import { converse, hex } from '#operator/testing/exchange.ts'
import { fc } from '#test/support/fastCheck.ts'
import { joinBytes } from './bytes.ts'
import { maxAnswerBytes } from './exchange.ts'
import { beginMinecraftJava } from './minecraftJava.ts'

const begin = (host = '10.0.0.1') => beginMinecraftJava({ host, port: 25_565, random: () => 0 })
const ask = (...pieces: Uint8Array[]) => converse(begin(), pieces).last
const text = (words: string) => new TextEncoder().encode(words)

const varInt = (value: number): number[] => (value < 128 ? [value] : [(value % 128) + 128, ...varInt(value >> 7)])
/** The packet of a status, by the description of the protocol. */
const statusOf = (json: string): Uint8Array => {
  const content = joinBytes([Uint8Array.from([0, ...varInt(text(json).length)]), text(json)])
  return joinBytes([Uint8Array.from(varInt(content.length)), content])
}

// py-mine/mcstatus, tests/test_pinger.py: a server of 1.8-pre1.
const preRelease = hex(`
  7200707b226465736372697074696f6e223a2241204d696e65637261667420536572766572222c22706c6179657273223a7b2
  26d6178223a32302c226f6e6c696e65223a307d2c2276657273696f6e223a7b226e616d65223a22312e382d70726531222c22
  70726f746f636f6c223a34347d7d`)
// py-mine/mcstatus, tests/test_server.py: a server of 1.8.
const release = hex(`
  6d006b7b226465736372697074696f6e223a2241204d696e65637261667420536572766572222c22706c6179657273223a7b2
  26d6178223a32302c226f6e6c696e65223a307d2c2276657273696f6e223a7b226e616d65223a22312e38222c2270726f746f
  636f6c223a34377d7d`)
// The form that Minecraft Wiki, "Java Edition protocol/Server List Ping", describes. It is not a recording.
const wiki = `{
    "version": { "name": "1.21.5", "protocol": 770 },
    "players": { "max": 100, "online": 5,
      "sample": [{ "name": "thinkofdeath", "id": "4566e69f-c907-48ee-8d71-d7ba5aa00d20" }] },
    "description": { "text": "Hello, world!" },
    "favicon": "data:image/png;base64,<data>",
    "enforcesSecureChat": false
}`
const report = { players: 5, capacity: 100, version: '1.21.5' }

test('asks with a handshake for the status, and a request', () => {
  // The fields of the handshake: any version, the host with its length, the port 25565, and the next state 1.
  expect(begin().packet).toEqual(hex('12 00 ffffffff0f 08 31302e302e302e31 63dd 01 01 00'))
})

test.each([
  ['1.8-pre1', preRelease, { players: 0, capacity: 20, version: '1.8-pre1' }],
  ['1.8', release, { players: 0, capacity: 20, version: '1.8' }],
  ['1.21.5', statusOf(wiki), report],
])('reads the answer of %s', (_, answer, expected) => {
  expect(ask(answer)).toEqual({ kind: 'report', report: expected })
})

test.each([
  ['{"players":{"online":-1}}', { players: -1 }],
  ['{"players":{"online":1e999,"max":"20"},"version":{"name":7}}', { players: Number.POSITIVE_INFINITY }],
  ['{"players":{"online":3},"version":"1.8"}', { players: 3 }],
])('passes on what a server claims: %s', (json, claimed) => {
  expect(ask(statusOf(json))).toEqual({ kind: 'report', report: claimed })
})

test.each<[string, Uint8Array, string]>([
  ['no JSON', statusOf('hello'), 'is not an object in JSON'],
  ['deep JSON', statusOf('['.repeat(60_000)), 'is not an object in JSON'],
  ['no players', statusOf('{"players":[]}'), 'has no number of players'],
  ['a text for the number', statusOf('{"players":{"online":"5"}}'), 'has no number of players'],
  ['another packet', Uint8Array.of(2, 0x1b, 0), 'is a packet with the id 27, and a status has 0'],
  ['HTTP', text('HTTP/1.1 400 Bad Request\r\n\r\n'), 'is a packet with the id 84, and a status has 0'],
  ['too long a packet', Uint8Array.from(varInt(70_000)), `announces 70000 bytes, more than ${maxAnswerBytes}`],
  ['an endless length', new Uint8Array(6).fill(0xff), 'has no length of a packet'],
  ['a negative length', hex('ffffffff0f'), 'has no length of a packet'],
  ['an endless length of the status', hex('07 00 ffffffffffff'), 'has no length of a status'],
  ['too long a status', hex('03 00 05 41'), 'has 3 bytes and ends before the end of the status'],
  ['a legacy answer', hex('ff 00 1a'), 'is a packet with the id 26, and a status has 0'],
])('finds the fault of %s', (_, bytes, fault) => {
  expect(ask(bytes, new Uint8Array(1))).toEqual({ kind: 'fault', fault })
})

const cut = fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 40 }).map((at) => at.sort((a, b) => a - b))
const toPieces = (bytes: Uint8Array, at: readonly number[]): Uint8Array[] =>
  [0, ...at].map((from, piece) => bytes.subarray(from, at[piece])).filter(({ length }) => length > 0)

describe('whatever pieces arrive', () => {
  test('an answer gives the same report, and none before its end', () => {
    const answer = statusOf(wiki)
    fc.assert(fc.property(cut, (at) => void expect(ask(...toPieces(answer, at))).toEqual({ kind: 'report', report })))
    for (let length = 1; length < answer.length; length += 1) {
      expect(ask(answer.subarray(0, length))).toEqual({ kind: 'more' })
    }
    expect(ask(...[...answer].map((byte) => Uint8Array.of(byte)))).toEqual({ kind: 'report', report })
  })

  test('any bytes settle within the limit of an answer, and never throw', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), cut, (bytes, at) => {
        const filled = joinBytes([bytes, new Uint8Array(maxAnswerBytes)])
        expect(['report', 'fault']).toContain(ask(...toPieces(filled, at)).kind)
      }),
    )
  })
})
