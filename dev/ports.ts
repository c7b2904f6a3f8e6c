import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/**
 * The range is below the one from which Linux and macOS take the ports of outgoing connections (32768 and 49152 up), so
 * that no client holds the port of a server that is being restarted, and below that of NodePorts (30000 up).
 */
const range = { first: 15_000, last: 29_999 }
const attempts = 200
const returned = new Set<number>()

/** Returns a TCP port that is free on the loopback address, and never the same one twice in one process. */
export const freePort = async (): Promise<number> => {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const port = randomInt(range.first, range.last + 1)
    if (returned.has(port)) continue
    returned.add(port)
    if (await canListen(port)) return port
  }
  throw new Error(`No free port found between ${range.first} and ${range.last} in ${attempts} attempts.`)
}

const canListen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
