import { type Reader, readBytes } from './bytes.ts'
import type { BeginExchange, Next } from './exchange.ts'
import { joinParts, more, receivePackets, toFault } from './packets.ts'

/** The types of packets. A request and its response have the same type. */
const challenge = 0
const query = 1

const skipText = (reader: Reader, what: string): void => {
  reader.take(reader.u8(`the length of ${what}`), `the end of ${what}`)
}
const readText = (reader: Reader, what: string): string => reader.text(reader.u8(`the length of ${what}`), what)

const readServerInfo = (reader: Reader): Next => {
  const players = reader.u16('the number of players')
  const capacity = reader.u16('the maximum number of players')
  skipText(reader, 'the server name')
  skipText(reader, 'the game type')
  const version = readText(reader, 'the build id')
  const map = readText(reader, 'the map')
  reader.take(2, 'the port')
  return { kind: 'report', report: { players, capacity, version, map } }
}

/** Reads the chunk of an answer. Later versions may have more fields at its end, and more chunks after it. */
const readChunk = (reader: Reader): Next => {
  const chunk = reader.take(reader.u32('the length of ServerInfo'), 'the end of ServerInfo')
  const read = readBytes(chunk, readServerInfo)
  return read.kind === 'fault' ? toFault(`contains a ServerInfo that ${read.fault}`) : read
}

/** Asks with version 1 of the server query protocol of Unity: first for a token, and with the token for the chunk ServerInfo. */
export const beginSqp: BeginExchange = () => {
  let token: number | undefined
  const join = joinParts(readChunk)
  return {
    packet: Uint8Array.of(challenge, 0, 0, 0, 0),
    receive: receivePackets((reader) => {
      const type = reader.u8('its type')
      if (type !== challenge && type !== query) return toFault(`is of type ${type}, which is not one of SQP`)
      const sent = reader.u32('the token')
      if (type === challenge && token === undefined) {
        token = sent
        // An array of bytes takes the low 8 bits of each number.
        const packet = Uint8Array.of(query, sent >>> 24, sent >>> 16, sent >>> 8, sent, 0, 1, 1)
        return { kind: 'send', packet }
      }
      if (type === challenge || sent !== token) return more
      reader.take(2, 'the version')
      const index = reader.u8('the number of the packet')
      const total = reader.u8('the number of the last packet') + 1
      return join({ index, total, bytes: reader.take(reader.u16('the length of the packet'), 'the end of the packet') })
    }),
  }
}
