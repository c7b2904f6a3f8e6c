import { randomBytes } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import type { Game } from './game.ts'

// https://developer.valvesoftware.com/wiki/Server_queries
const single = Buffer.from([0xff, 0xff, 0xff, 0xff])
const question = Buffer.concat([single, text('TSource Engine Query')])
const challengeBytes = 4

/** The fields of an answer to A2S_INFO. */
export type Info = Pick<Game, 'players' | 'bots' | 'capacity' | 'map' | 'version'> & {
  readonly protocol: number
  readonly name: string
  readonly folder: string
  readonly game: string
  readonly steamId: number
}

function text(value: string): Buffer {
  return Buffer.from(`${value}\0`)
}

/** Returns the datagram S2A_INFO of a dedicated Linux server without password and VAC. */
export const encodeInfo = (info: Info): Buffer => {
  const id = Buffer.alloc(2)
  id.writeUInt16LE(info.steamId)
  return Buffer.concat([
    single,
    Buffer.from(['I'.charCodeAt(0), info.protocol]),
    ...[info.name, info.map, info.folder, info.game].map(text),
    id,
    Buffer.from([info.players, info.capacity, info.bots]),
    Buffer.from('dl\0\0'),
    text(info.version),
  ])
}

/**
 * Returns the answer to a datagram: a challenge to a question without the right one, and the info to one with it. Undefined for other
 * datagrams.
 */
export const answerA2S = (datagram: Buffer, challenge: Buffer, info: () => Info): Buffer | undefined => {
  const isQuestion = datagram.subarray(0, question.length).equals(question)
  if (!isQuestion || datagram.length > question.length + challengeBytes) return undefined
  if (datagram.subarray(question.length).equals(challenge)) return encodeInfo(info())
  return Buffer.concat([single, Buffer.from('A'), challenge])
}

/** Answers A2S_INFO on a UDP port. */
export const startA2S = (game: Game, port: number): Socket => {
  const challenge = randomBytes(challengeBytes)
  const fixed = { protocol: 17, name: 'A test server', folder: 'test', game: 'Test', steamId: 0 }
  const socket = createSocket('udp4')
  socket.on('message', (datagram, { port: from, address }) => {
    const answer = answerA2S(datagram, challenge, () => ({ ...fixed, ...game }))
    if (answer === undefined) return
    game.asked += 1
    if (game.isAnswering) socket.send(answer, from, address)
  })
  return socket.bind(port)
}
