import { expect, test } from 'vitest'
import { createStatusConnection, encodeStatus, encodeVarInt } from './minecraft.ts'

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex')

test.each([
  [0, '00'],
  [127, '7f'],
  [128, '8001'],
  [25_565, 'ddc701'],
  [2_097_151, 'ffff7f'],
])('the VarInt of %i has the documented bytes', (value, bytes) => {
  expect(encodeVarInt(value).toString('hex')).toBe(bytes)
})

test('a status is a packet with the id 0 and a string of JSON', () => {
  const packet = encodeStatus({ players: 3, capacity: 20, version: '1.2.3' })
  const json = packet.subarray(packet.indexOf('{'))
  const string = Buffer.concat([encodeVarInt(json.length), json])
  expect(packet).toEqual(Buffer.concat([encodeVarInt(1 + string.length), Buffer.from([0]), string]))
  expect(JSON.parse(json.toString())).toMatchObject({ version: { name: '1.2.3' }, players: { online: 3, max: 20 } })
})

/** A handshake for Status of protocol -1, then Status Request and Ping Request. */
const shake = hex('17 00 ffffffff0f 0d') // length, id, protocol, length of the address
const conversation = Buffer.concat([
  shake,
  Buffer.from('mc.example.de'),
  hex('63dd 01'),
  hex('01 00'),
  hex('09 01 0102030405060708'),
])
const status = Buffer.from('status')
const converse = (chunks: readonly Buffer[]) => {
  const connection = createStatusConnection(() => status)
  return chunks.flatMap((chunk) => connection.receive(chunk))
}

test('a client gets the status and its ping back, however its bytes are cut', () => {
  const wanted = [status, hex('09 01 0102030405060708')]
  expect(converse([conversation])).toEqual(wanted)
  expect(converse([...conversation].map((byte) => Buffer.from([byte])))).toEqual(wanted)
})

test('a client that asks before its handshake, or wants to log in, is refused', () => {
  expect(() => converse([hex('01 00')])).toThrow('no handshake')
  expect(() => converse([shake, Buffer.from('mc.example.de'), hex('63dd 02')])).toThrow('no handshake')
})

test('a length beyond the limit is refused', () => {
  for (const length of ['00', 'ff7f', 'ffffffffff01']) expect(() => converse([hex(length)]), length).toThrow('The')
})
