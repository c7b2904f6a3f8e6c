import { createServer } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import { collectDefaultMetrics, type Registry } from 'prom-client'
import { withDefined } from '#shared/optional.ts'

/**
 * Registers the metrics of the process: CPU, memory, garbage collection, event loop. The delay of the event loop is measured
 * every `eventLoopMs`. That wakes an idle process: every 10 ms, the default of prom-client, costs 0.14 s of CPU a minute, and every
 * 100 ms 0.02 s.
 */
export const registerProcessMetrics = (registry: Registry, { eventLoopMs }: { eventLoopMs: number }): void =>
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: eventLoopMs })

/**
 * Serves `/metrics`, and with `ready` also `/livez` and `/readyz`. `/livez` answers 503 while `alive` returns false, so that
 * the kubelet restarts the process.
 */
export const serveOperations = async (options: {
  port: number
  /** The address to listen on; every address without one. */
  address?: string | undefined
  registry: Registry
  ready?: () => boolean
  alive?: () => boolean
}): Promise<{ port: number; close(): Promise<void> }> => {
  const { registry, ready, alive = () => true } = options
  const answers: Record<string, () => Promise<[status: number, type: string, body: string]>> = {
    '/metrics': async () => [200, registry.contentType, await registry.metrics()],
    ...(ready && {
      '/livez': async () => (alive() ? [200, 'text/plain', 'ok\n'] : [503, 'text/plain', 'stuck\n']),
      '/readyz': async () => (ready() ? [200, 'text/plain', 'ok\n'] : [503, 'text/plain', 'waiting for the caches\n']),
    }),
  }
  const server = createServer(async (request, response) => {
    const answer = answers[(request.url ?? '').split('?')[0] ?? '']
    const [status, type, body] = answer ? await answer() : [404, 'text/plain', 'not found\n']
    response.writeHead(status, { 'content-type': type }).end(body)
  })
  server.requestTimeout = 10_000
  await listen(server, options.port, options.address)
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** The number of connections that can wait to be accepted, since thousands reconnect when a replica ends. The system may allow fewer. */
const backlog = 4_096

/** Listens on the port, of one address or of all. Rejects with an Error that names the port and the remedy. */
export const listen = (server: Server, port: number, host?: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const isInUse = error.code === 'EADDRINUSE'
      reject(
        new Error(
          isInUse
            ? `Port ${port} is in use by another process. Stop that process or choose another port.`
            : `Cannot listen on port ${port}: ${error.message}`,
          { cause: error },
        ),
      )
    })
    server.listen({ port, backlog, ...withDefined({ host }) }, resolve)
  })
