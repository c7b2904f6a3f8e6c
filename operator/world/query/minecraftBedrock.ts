import { joinBytes, type Reader } from './bytes.ts'
import type { BeginExchange, Next } from './exchange.ts'
import { more, receivePackets, toFault } from './packets.ts'

const pingId = 0x01
const pongId = 0x1c
/** The bytes by which RakNet tells its packets without a connection from others. */
const magic = Uint8Array.from([
  0x00, 0xff, 0xff, 0x00, 0xfe, 0xfe, 0xfe, 0xfe, 0xfd, 0xfd, 0xfd, 0xfd, 0x12, 0x34, 0x56, 0x78,
])

const areEqual = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && one.every((byte, at) => byte === other[at])

/** Returns a number in decimal digits, and NaN for other texts. */
const toNumber = (text = ''): number => (/^-?\d+$/.test(text) ? Number(text) : Number.NaN)

/** Returns the fields between semicolons. A backslash before a semicolon makes it part of a field. */
const splitFields = (text: string): string[] => text.split(/(?<!\\);/).map((field) => field.replaceAll('\\;', ';'))

const readFields = (text: string): Next => {
  const [edition = '', , , version = '', players, capacity, , map = ''] = splitFields(text)
  if (edition !== 'MCPE' && edition !== 'MCEE')
    return toFault('does not begin with the name of an edition of Minecraft')
  if (players === undefined) return toFault('ends before the number of players')
  return {
    kind: 'report',
    report: {
      players: toNumber(players),
      ...(capacity !== undefined && { capacity: toNumber(capacity) }),
      version,
      map,
    },
  }
}

/** Asks with the unconnected ping of RakNet, which servers of Minecraft Bedrock answer. */
export const beginMinecraftBedrock: BeginExchange = ({ random }) => {
  const randomBytes = () => Uint8Array.from({ length: 8 }, () => Math.floor(random() * 256))
  const time = randomBytes()

  const readPong = (reader: Reader): Next => {
    const type = reader.u8('its type')
    if (type !== pongId) return toFault(`is of type ${type}, and a pong is of type ${pongId}`)
    // The pong of an earlier ping may be late.
    if (!areEqual(reader.take(8, 'the end of the time'), time)) return more
    reader.take(8, 'the end of the id of the server')
    if (!areEqual(reader.take(16, 'the end of the magic'), magic)) return toFault('is not one of RakNet')
    return readFields(reader.text(reader.u16('the length of the text'), 'the text'))
  }

  return {
    packet: joinBytes([Uint8Array.of(pingId), time, magic, randomBytes()]),
    receive: receivePackets(readPong),
  }
}
