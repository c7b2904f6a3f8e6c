import { createSocket } from 'node:dgram'
import { isIP } from 'node:net'
import type { ServerAnswer } from '../../query/answer.ts'
import type { Exchange } from '../../query/exchange.ts'
import { type Address, converse, type Line, type LineEvents } from './converse.ts'

/** The maximum number of datagrams of an answer. */
const maxDatagrams = 64

/** Asks one question over UDP, on a socket of its own, with the limits of `converse`. Hears only the server that it asks. */
export const askOverUdp = (
  address: Address,
  exchange: Exchange,
  signal: AbortSignal,
): Promise<ServerAnswer | undefined> =>
  converse(exchange, signal, { open: (events) => openUdp(address, events), maxReads: maxDatagrams })

const openUdp = ({ host, port }: Address, { connected, received, ended }: LineEvents): Line => {
  const socket = createSocket(isIP(host) === 6 ? 'udp6' : 'udp4')
  // The kernel drops the datagrams of others, and reports a port that is closed, once the socket is connected.
  let peer: string | undefined
  socket.on('error', ended)
  socket.on('message', (bytes, from) => {
    // A datagram of another sender may have arrived before that.
    if (from.address === peer && from.port === port) received(bytes)
  })
  return {
    connect: () =>
      socket.connect(port, host, (error?: Error) => {
        if (error !== undefined) return ended()
        peer = socket.remoteAddress().address
        connected()
      }),
    send: (packet) => socket.send(packet, (error) => error && ended()),
    close: () => socket.close(),
  }
}
