import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/**
 * The range is below the ephemeral ports of Linux and macOS (from 32768 and 49152), so that no client takes the port of
 * a restarting server, and below the NodePorts (from 30000).
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
