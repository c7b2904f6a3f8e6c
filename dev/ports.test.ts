import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { freePort } from './ports.ts'

test('freePort returns different ports, on each of which a server can listen', async () => {
  const ports = await Promise.all(Array.from({ length: 50 }, freePort))
  expect(new Set(ports).size).toBe(50)
  expect(ports.every((port) => port < 30_000)).toBe(true)
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(ports[0], '127.0.0.1', resolve))
  await new Promise((resolve) => server.close(resolve))
})
