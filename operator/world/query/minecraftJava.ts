import { createReader, joinBytes, type Reader, readBytes } from './bytes.ts'
import { type BeginExchange, maxAnswerBytes, type Next } from './exchange.ts'
import { numberIn, objectIn, readObject, textsIn } from './json.ts'
import { more, toFault } from './packets.ts'

/** A VarInt has 7 bits of a number in each byte, the lowest first. All but the last byte have the eighth bit. */
const varInt = (value: number): number[] => (value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varInt(value >>> 7)])

const maxVarIntBytes = 5

/** Returns a VarInt, or undefined if it has too many bytes or is negative. */
const readVarInt = (reader: Reader, what: string): number | undefined => {
  let value = 0
  for (let at = 0; at < maxVarIntBytes; at += 1) {
    const byte = reader.u8(what)
    value |= (byte & 0x7f) << (7 * at)
    if (byte < 0x80) return value < 0 ? undefined : value
  }
  return undefined
}

const toFrame = (...parts: readonly (readonly number[] | Uint8Array)[]): Uint8Array => {
  const content = joinBytes(parts.map((part) => Uint8Array.from(part)))
  return joinBytes([Uint8Array.from(varInt(content.length)), content])
}

const statusId = 0
/** A client that does not know the server's version names this one. */
const anyVersion = [0xff, 0xff, 0xff, 0xff, 0x0f]
const nextIsStatus = 1

/** The handshake and the request for the status. The server may use the host to choose what it answers. */
const toRequest = (host: string, port: number): Uint8Array => {
  const name = new TextEncoder().encode(host)
  const address = [...varInt(name.length), ...name, port >> 8, port & 0xff]
  return joinBytes([toFrame([statusId], anyVersion, address, [nextIsStatus]), toFrame([statusId])])
}

const readStatus = (text: string): Next => {
  const status = readObject(text)
  if (status === undefined) return toFault('is not an object in JSON')
  const players = objectIn(status, 'players')
  const [online, capacity] = [numberIn(players, 'online'), numberIn(players, 'max')]
  if (online === undefined) return toFault('has no number of players')
  const version = objectIn(status, 'version').name
  return {
    kind: 'report',
    report: { players: online, ...(capacity !== undefined && { capacity }), ...textsIn({ version }) },
  }
}

/** Reads the frame of an answer, or returns the number of bytes that it needs at least. */
const readFrame = (bytes: Uint8Array): Next | { readonly kind: 'needs'; readonly length: number } => {
  const reader = createReader(bytes)
  const last = bytes.subarray(0, maxVarIntBytes).findIndex((byte) => byte < 0x80)
  if (last < 0 && bytes.length < maxVarIntBytes) return { kind: 'needs', length: bytes.length + 1 }
  const length = readVarInt(reader, 'its length')
  if (length === undefined) return toFault('has no length of a packet')
  const begin = last + 1
  if (begin + length > maxAnswerBytes) return toFault(`announces ${length} bytes, more than ${maxAnswerBytes}`)
  if (bytes.length <= begin) return { kind: 'needs', length: begin + 1 }
  const id = bytes[begin]
  if (id !== statusId) return toFault(`is a packet with the id ${id}, and a status has ${statusId}`)
  if (bytes.length < begin + length) return { kind: 'needs', length: begin + length }
  return readBytes(bytes.subarray(begin, begin + length), (content) => {
    content.u8('its id')
    const size = readVarInt(content, 'the length of the status')
    return size === undefined ? toFault('has no length of a status') : readStatus(content.text(size, 'the status'))
  })
}

/** Asks with the server list ping of Minecraft Java 1.7 and later. */
export const beginMinecraftJava: BeginExchange = ({ host, port }) => {
  let parts: Uint8Array[] = []
  let total = 0
  let needed = 1
  return {
    packet: toRequest(host, port),
    receive: (bytes) => {
      parts.push(bytes)
      total += bytes.length
      // The bytes are joined a few times, and not once for each piece.
      if (total < needed) return more
      const all = joinBytes(parts)
      parts = [all]
      const read = readFrame(all)
      if (read.kind !== 'needs') return read
      needed = read.length
      return more
    },
  }
}
