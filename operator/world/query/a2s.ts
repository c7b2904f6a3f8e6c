import type { ServerReport } from './answer.ts'
import { joinBytes, type Reader } from './bytes.ts'
import type { BeginExchange, Next } from './exchange.ts'
import { joinParts, more, receivePackets, toFault } from './packets.ts'

/** The headers of a packet: a whole message, and a part of one. */
const whole = 0xff_ff_ff_ff
const split = 0xff_ff_ff_fe
/** The bit of the id of a split answer that says that it is compressed. */
const compressed = 0x80_00_00_00

/** A server sends a challenge again if the first one has expired. */
const maxChallenges = 2

/** The Ship adds its mode, witnesses and duration to its answer. */
const theShip = 2400

const info = joinBytes([new Uint8Array(4).fill(0xff), new TextEncoder().encode('TSource Engine Query\0')])

/** Skips the texts before the map, reads the map, and skips the folder and the game. */
const readMap = (reader: Reader): string => {
  reader.textToZero('the name')
  const map = reader.textToZero('the map')
  reader.textToZero('the folder')
  reader.textToZero('the game')
  return map
}

const readSource = (reader: Reader): ServerReport => {
  reader.take(1, 'the protocol')
  const map = readMap(reader)
  const appId = reader.u16('the app id', 'little')
  const players = reader.u8('the number of players')
  const capacity = reader.u8('the maximum number of players')
  const bots = reader.u8('the number of bots')
  reader.take(4, 'the end of the type, environment, visibility and VAC')
  if (appId === theShip) reader.take(3, 'the end of the settings of The Ship')
  return { players, bots, capacity, map, version: reader.textToZero('the version') }
}

/** Reads the answer of old GoldSource servers. Its only version is that of the protocol. */
const readGoldSource = (reader: Reader): ServerReport => {
  reader.textToZero('the address')
  const map = readMap(reader)
  const players = reader.u8('the number of players')
  const capacity = reader.u8('the maximum number of players')
  reader.take(4, 'the end of the protocol, type, environment and visibility')
  if (reader.u8('the mod') === 1) {
    reader.textToZero('the link of the mod')
    reader.textToZero('the download link of the mod')
    reader.take(11, 'the end of the mod')
  }
  reader.take(1, 'VAC')
  return { players, bots: reader.u8('the number of bots'), capacity, map }
}

/** Asks with A2S_INFO of Valve. If the server sends a challenge, the question is sent again with it. */
export const beginA2S: BeginExchange = () => {
  let challenges = 0
  let splitId: number | undefined

  const readMessage = (reader: Reader): Next => {
    const type = reader.u8('its type')
    if (type === 0x49) return { kind: 'report', report: readSource(reader) }
    if (type === 0x6d) return { kind: 'report', report: readGoldSource(reader) }
    if (type !== 0x41)
      return toFault(`is of type 0x${type.toString(16).padStart(2, '0')}, which is not one of A2S_INFO`)
    challenges += 1
    if (challenges > maxChallenges) return toFault(`is a challenge again, after ${maxChallenges} that were answered`)
    return { kind: 'send', packet: joinBytes([info, reader.take(4, 'the end of the challenge')]) }
  }

  const join = joinParts((reader) =>
    reader.u32('its header', 'little') === whole ? readMessage(reader) : toFault('is split and has no header of A2S'),
  )

  const readPart = (reader: Reader): Next => {
    const id = reader.u32('the id of the split answer', 'little')
    if (id >= compressed) return toFault('is compressed with bzip2, which is not supported')
    splitId ??= id
    if (id !== splitId) return more
    const total = reader.u8('the number of packets')
    const index = reader.u8('the number of the packet')
    reader.take(2, 'the end of the size of the packets')
    return join({ index, total, bytes: reader.rest() })
  }

  return {
    packet: info,
    receive: receivePackets((reader) => {
      const header = reader.u32('its header', 'little')
      if (header === split) return readPart(reader)
      return header === whole ? readMessage(reader) : toFault('has no header of A2S')
    }),
  }
}
