import { Socket } from 'node:net'
import type { ServerAnswer } from '../../query/answer.ts'
import type { Exchange } from '../../query/exchange.ts'
import { type Address, converse, type Line, type LineEvents } from './converse.ts'

/** The maximum number of reads of an answer. A server that sends one byte at a time would cause as many as there are bytes. */
const maxReads = 1_024
/** The maximum number of bytes of a read, a part of `maxAnswerBytes`, so that no more than that is read. */
const maxReadBytes = 4_096

/** Asks one question over TCP, on a connection of its own, with the limits of `converse`. */
export const askOverTcp = (
  address: Address,
  exchange: Exchange,
  signal: AbortSignal,
): Promise<ServerAnswer | undefined> =>
  converse(exchange, signal, { open: (events) => openTcp(address, events), maxReads })

const openTcp = ({ host, port }: Address, { connected, received, ended }: LineEvents): Line => {
  const socket = new Socket({
    onread: {
      buffer: Buffer.allocUnsafeSlow(maxReadBytes),
      callback: (length, buffer) => {
        // The buffer is used again for the next read.
        received(Buffer.from(buffer.subarray(0, length)))
        return !socket.destroyed
      },
    },
  })
  socket.on('connect', connected)
  socket.on('error', ended)
  socket.on('end', ended)
  socket.on('close', ended)
  return {
    connect: () => socket.connect({ host, port }),
    send: (packet) => socket.write(packet),
    close: () => socket.destroy(),
  }
}
