import { createSocket } from 'node:dgram'
import { once } from 'node:events'

const typeA = 1

/** Starts a DNS server (RFC 1035) on a loopback port. It answers questions for A records with what `resolve` returns. */
export const startDnsServer = async (resolve: (name: string) => string | undefined) => {
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = readQuestion(query)
    const found = type === typeA ? resolve(name) : undefined
    const header = Buffer.from(query.subarray(0, 12))
    // An authoritative answer, with one record if there is an address.
    header.writeUInt16BE(0x8580, 2)
    header.writeUInt16BE(found === undefined ? 0 : 1, 6)
    header.writeUInt32BE(0, 8)
    const parts = [header, query.subarray(12, end), ...(found === undefined ? [] : [toRecord(found)])]
    socket.send(Buffer.concat(parts), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { address: `127.0.0.1:${socket.address().port}`, close: () => socket.close() }
}

const readQuestion = (query: Buffer): { name: string; type: number; end: number } => {
  const labels: string[] = []
  let at = 12
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

/** An A record of the name of the question, which is at offset 12, with a time to live of 0. */
const toRecord = (address: string): Buffer =>
  Buffer.from([0xc0, 12, 0, typeA, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)])
