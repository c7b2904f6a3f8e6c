import { expect, test } from 'vitest'
import { converse, hex } from '#operator/testing/exchange.ts'
import { fc } from '#test/support/fastCheck.ts'
import { joinBytes } from './bytes.ts'
import { beginMinecraftBedrock } from './minecraftBedrock.ts'

const begin = () => beginMinecraftBedrock({ host: '10.0.0.1', port: 19_132, random: () => 0.5 })
const ask = (...packets: Uint8Array[]) => converse(begin(), packets).last

const magic = '00ffff00fefefefefdfdfdfd12345678'
const time = '80'.repeat(8)
/** A pong by the description of RakNet. */
const pongOf = (words: string, head = `1c ${time} 0102030405060708 ${magic}`): Uint8Array => {
  const text = new TextEncoder().encode(words)
  return joinBytes([hex(head), Uint8Array.of(text.length >> 8, text.length & 0xff), text])
}

// wiki.bedrock.dev, "RakNet": the fields of a Bedrock Dedicated Server, in a pong that is made here.
const wiki = 'MCPE;Dedicated Server;390;1.14.60;0;10;13253860892328930865;Bedrock level;Survival;1;19132;19133;'
const report = { players: 0, capacity: 10, version: '1.14.60', map: 'Bedrock level' }

test('asks with an unconnected ping', () => {
  expect(begin().packet).toEqual(hex(`01 ${time} ${magic} ${time}`))
})

test.each([
  [wiki, report],
  ['MCEE;School;390;1.14.31;3;40', { players: 3, capacity: 40, version: '1.14.31', map: '' }],
  [
    String.raw`MCPE;One\; two;527;1.19.1;5;20;1;A\;B;Survival`,
    { players: 5, capacity: 20, version: '1.19.1', map: 'A;B' },
  ],
  ['MCPE;a;1;v;-5;', { players: -5, capacity: Number.NaN, version: 'v', map: '' }],
  ['MCPE;a;1;v;0x10', { players: Number.NaN, version: 'v', map: '' }],
])('reads %s', (words, expected) => {
  expect(ask(pongOf(words))).toEqual({ kind: 'report', report: expected })
})

test('reads a recorded pong, whose time was 0', () => {
  // py-mine/mcstatus, tests/protocol/test_bedrock_client.py: a server without a version.
  const head = `1c 0000000000000000 34475400b88344de ${magic}`
  const words = 'MCPE;§r§4G§r§6a§r§ey§r§2B§r§1o§r§9w§r§ds§r§4e§r§6r;422;;1;69;3767071975391053022;;Default;1;19132;-1;'
  const exchange = beginMinecraftBedrock({ host: '10.0.0.1', port: 19_132, random: () => 0 })
  expect(converse(exchange, [pongOf(words, head)]).last).toEqual({
    kind: 'report',
    report: { players: 1, capacity: 69, version: '', map: '' },
  })
})

test('ignores the pong of another ping', () => {
  const other = pongOf(wiki, `1c ${'00'.repeat(8)} 0102030405060708 ${magic}`)
  expect(ask(other)).toEqual({ kind: 'more' })
  expect(ask(other, pongOf(wiki))).toEqual({ kind: 'report', report })
})

test.each<[string, Uint8Array, string]>([
  ['another packet', hex('19 00'), 'is of type 25, and a pong is of type 28'],
  ['another magic', pongOf(wiki, `1c ${time} 0102030405060708 ${'00'.repeat(16)}`), 'is not one of RakNet'],
  ['another text', pongOf('hello'), 'does not begin with the name of an edition of Minecraft'],
  ['too few fields', pongOf('MCPE;a;1;v'), 'ends before the number of players'],
  ['a cut text', pongOf(wiki).subarray(0, 60), 'has 60 bytes and ends before the end of the text'],
  ['a cut head', pongOf(wiki).subarray(0, 20), 'has 20 bytes and ends before the end of the magic'],
])('finds the fault of %s', (_, packet, fault) => {
  expect(ask(packet)).toEqual({ kind: 'fault', fault })
})

test('never throws, and returns no report from a cut pong', () => {
  const pong = pongOf(wiki)
  for (let length = 0; length < pong.length; length += 1) expect(ask(pong.subarray(0, length)).kind).toBe('fault')
  fc.assert(fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => void expect(ask(bytes).kind).not.toBe('report')))
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 100 }),
      (bytes) => void expect(['more', 'fault', 'report']).toContain(ask(joinBytes([pong.subarray(0, 33), bytes])).kind),
    ),
  )
})
