import { randomInt } from 'node:crypto'
import { createServer, type ListenOptions, type Server } from 'node:net'

/**
 * The range is below the ephemeral ports of Linux and macOS (from 32768 and 49152), so that no client takes the port of
 * a restarting server, and below the NodePorts (from 30000).
 */
const range = { first: 15_000, last: 29_999 }
const attempts = 200
const returned = new Set<number>()
/** Kept from garbage collection, which would close them. */
const reservations: Server[] = []

/**
 * Returns a TCP port that is free on the loopback address, and never the same one twice in one process. On Linux it also differs from
 * those that other running processes got here, so it is free until its server starts, and while that restarts.
 */
export const freePort = async (): Promise<number> => {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const port = randomInt(range.first, range.last + 1)
    if (returned.has(port)) continue
    returned.add(port)
    if ((await reserve(port)) && (await canListen(port))) return port
  }
  throw new Error(`No free port found between ${range.first} and ${range.last} in ${attempts} attempts.`)
}

const canListen = async (port: number): Promise<boolean> => {
  const server = await listen({ port, host: '127.0.0.1' })
  if (server === undefined) return false
  await new Promise((resolve) => server.close(resolve))
  return true
}

/** Holds an abstract socket with the number of the port until this process ends. Only one process can. */
const reserve = async (port: number): Promise<boolean> => {
  if (process.platform !== 'linux') return true
  const server = await listen({ path: `\0orrery-port-${port}` })
  if (server === undefined) return false
  server.unref()
  reservations.push(server)
  return true
}

const listen = (options: ListenOptions): Promise<Server | undefined> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(undefined))
    server.listen(options, () => resolve(server))
  })
