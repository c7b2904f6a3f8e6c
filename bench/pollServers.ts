import { createSocket } from 'node:dgram'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { benchHost } from './poll.ts'

// A child process of `poll.ts`: servers that speak A2S, one on each address, and Http on every address.
const info = Buffer.concat([
  Buffer.from('\xff\xff\xff\xffI\x11name\0map\0folder\0game\0', 'latin1'),
  Uint8Array.of(0, 0, 3, 20, 0, 0x64, 0x6c, 0, 0),
  Buffer.from('1.0\0\0'),
])
const bind = (at: number): Promise<number> =>
  new Promise((bound) => {
    const socket = createSocket('udp4')
    socket.on('message', (_, { port, address }) => socket.send(info, port, address))
    socket.bind(27_015, benchHost(at), () => bound(at))
  })

await Promise.all(Array.from({ length: Number(process.argv[2]) }, (_, at) => bind(at)))
const http = createServer((_, response) => response.end('{"active":3,"queued":0}'))
http.listen(0, '0.0.0.0', () => process.send?.((http.address() as AddressInfo).port))
process.on('disconnect', () => process.exit())
