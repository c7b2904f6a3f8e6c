import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { until } from './until.ts'

const dir = mkdtempSync(join(tmpdir(), 'orrery-parent-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const program = `
  import { startService } from ${JSON.stringify(fileURLToPath(new URL('process.ts', import.meta.url)))}
  const service = await startService({
    name: 'example', command: process.execPath, args: ['-e', 'setInterval(() => undefined, 1000)'],
    logFile: ${JSON.stringify(join(dir, 'example.log'))}, ready: async () => true, readyTimeoutMs: 60_000,
  })
  console.log(service.pid)`

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test.runIf(process.platform === 'linux')('a service ends when the process that started it is killed', async () => {
  const parent = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const pid = await new Promise<number>((resolve) => parent.stdout.once('data', (data) => resolve(Number(data))))
  expect(isAlive(pid)).toBe(true)
  parent.kill('SIGKILL')
  await until('the end of the service', async () => (isAlive(pid) ? undefined : true), 30_000)
})
