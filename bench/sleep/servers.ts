import { createServer } from 'node:http'
import { healthPort } from '#shared/domain/ports.ts'

// A child process of `main.ts`: the servers of all pods, whose addresses are on loopback. Nobody is in any of them.
createServer((_, response) => response.end('{"active":0,"queued":0}')).listen(healthPort, '0.0.0.0', () =>
  process.send?.('listening'),
)
process.on('disconnect', () => process.exit())
