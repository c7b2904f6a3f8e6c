import { createServer, type Server } from 'node:net'
import type { Game } from './game.ts'

// https://minecraft.wiki/w/Java_Edition_protocol/Server_List_Ping
const maxPacketBytes = 1_024
const protocolVersion = 769

/** Returns a whole number as a VarInt: seven bits a byte, the lowest first. */
export const encodeVarInt = (value: number): Buffer => {
  const bytes: number[] = []
  let rest = value
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80)
  return Buffer.from([...bytes, rest])
}

/** Reads a VarInt. Returns undefined if it is incomplete, and throws if it is too long. */
const readVarInt = (bytes: Buffer, at: number): { value: number; end: number } | undefined => {
  let value = 0
  for (let step = 0; step < 5; step += 1) {
    const byte = bytes[at + step]
    if (byte === undefined) return undefined
    value |= (byte & 0x7f) << (7 * step)
    if (byte <= 0x7f) return { value, end: at + step + 1 }
  }
  throw new Error('The VarInt is too long')
}

/** Returns a packet: its length, its id and its data. */
const encodePacket = (id: number, data: Buffer): Buffer =>
  Buffer.concat([encodeVarInt(data.length + 1), Buffer.from([id]), data])

/** Returns the packet Status Response. */
export const encodeStatus = ({
  players,
  capacity,
  version,
}: Pick<Game, 'players' | 'capacity' | 'version'>): Buffer => {
  const status = {
    version: { name: version, protocol: protocolVersion },
    players: { max: capacity, online: players, sample: [] },
    description: { text: 'A test server' },
  }
  const json = Buffer.from(JSON.stringify(status))
  return encodePacket(0, Buffer.concat([encodeVarInt(json.length), json]))
}

const handshake = 0
const ping = 1
const nextStatus = 1

/**
 * Reads what a client sends on one connection. `receive` takes the next bytes and returns the packets to send. It throws for bytes
 * that no client sends in the state Status.
 */
export const createStatusConnection = (status: () => Buffer): { receive: (bytes: Buffer) => Buffer[] } => {
  let rest = Buffer.alloc(0)
  let hasShakenHands = false
  const answer = (packet: Buffer): Buffer[] => {
    const id = packet[0]
    if (!hasShakenHands) {
      if (id !== handshake || packet.at(-1) !== nextStatus)
        throw new Error('The first packet is no handshake for Status')
      hasShakenHands = true
      return []
    }
    if (id === 0 && packet.length === 1) return [status()]
    if (id === ping && packet.length === 9) return [encodePacket(ping, packet.subarray(1))]
    throw new Error('The packet is neither Status Request nor Ping Request')
  }
  return {
    receive: (bytes) => {
      rest = Buffer.concat([rest, bytes])
      const answers: Buffer[] = []
      for (;;) {
        const length = readVarInt(rest, 0)
        if (length === undefined) return answers
        if (length.value < 1 || length.value > maxPacketBytes) throw new Error('The length of the packet is wrong')
        const end = length.end + length.value
        if (rest.length < end) return answers
        answers.push(...answer(rest.subarray(length.end, end)))
        rest = rest.subarray(end)
      }
    },
  }
}

/** Answers the server list ping on a TCP port. */
export const startMinecraft = (game: Game, port: number): Server =>
  createServer((socket) => {
    const connection = createStatusConnection(() => {
      game.asked += 1
      return encodeStatus(game)
    })
    socket.on('error', () => socket.destroy())
    socket.on('data', (bytes: Buffer) => {
      try {
        const answers = connection.receive(bytes)
        if (game.isAnswering) for (const each of answers) socket.write(each)
      } catch {
        socket.destroy()
      }
    })
  }).listen(port)
