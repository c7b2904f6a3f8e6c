import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, onTestFinished, test } from 'vitest'

const dir = mkdtempSync(join(tmpdir(), 'orrery-parent-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const address = join(dir, 'service.sock')
const service = `require('node:net').connect(${JSON.stringify(address)})`
const programOf = (code: string, more: object): string => `
  import { startService } from ${JSON.stringify(fileURLToPath(new URL('process.ts', import.meta.url)))}
  await startService({
    name: 'example', command: process.execPath, args: ['-e', ${JSON.stringify(code)}],
    logFile: ${JSON.stringify(join(dir, 'example.log'))}, ready: async () => true, readyTimeoutMs: 60_000,
    ...${JSON.stringify(more)},
  })`

test.runIf(process.platform === 'linux').each([
  { title: 'a service', program: programOf(service, {}) },
  {
    title: 'a service that ignores its stop signal',
    program: programOf(`process.on('SIGTERM', () => undefined); ${service}`, { deathSignal: 'SIGKILL' }),
  },
])('$title ends when the process that started it is killed', async ({ program }) => {
  const server = createServer().listen(address)
  await once(server, 'listening')
  const parent = spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: 'inherit' })
  const [connection] = (await once(server, 'connection')) as [Socket]
  // A service that outlived its parent ends when its connection does.
  onTestFinished(() => {
    connection.destroy()
    server.close()
  })
  connection.resume()
  const end = once(connection, 'close')
  parent.kill('SIGKILL')
  await end
})
