import { execFileSync } from 'node:child_process'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
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

test.runIf(process.platform === 'linux')('a port belongs to one process while that runs', async () => {
  const ports = await Promise.all(Array.from({ length: 50 }, freePort))
  // A process that draws these ports first, and then others.
  const program = `
    import crypto from 'node:crypto'
    import { syncBuiltinESMExports } from 'node:module'
    const numbers = [${ports.join(', ')}]
    let next = 15_000
    crypto.randomInt = () => numbers.shift() ?? next++
    syncBuiltinESMExports()
    const { freePort } = await import(${JSON.stringify(fileURLToPath(new URL('ports.ts', import.meta.url)))})
    console.log(await freePort())`
  const other = execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' })
  expect(ports).not.toContain(Number(other))
  expect(Number(other)).toBeGreaterThanOrEqual(15_000)
})
