import { createConnection, createServer } from 'node:net'
import { freePort } from '#dev/ports.ts'

/** Forwards TCP connections from a port of the address to a port of loopback, for pods that use a server of this machine. */
export const forwardPort = async (address: string, to: number): Promise<{ port: number; stop(): Promise<void> }> => {
  const port = await freePort()
  const server = createServer((socket) => {
    const target = createConnection({ host: '127.0.0.1', port: to })
    for (const [one, other] of [
      [socket, target],
      [target, socket],
    ] as const) {
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
      one.pipe(other)
    }
  })
  await new Promise<void>((resolve) => server.listen(port, address, resolve))
  return { port, stop: async () => void server.close() }
}
