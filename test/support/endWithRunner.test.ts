import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { eventually } from './wait.ts'

const dir = mkdtempSync(join(tmpdir(), 'orrery-runner-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test('a worker ends when its runner is killed', async () => {
  const worker = join(dir, 'worker.mjs')
  const setupFile = new URL('endWithRunner.ts', import.meta.url).href
  writeFileSync(worker, `await import('${setupFile}'); console.log(process.pid); setInterval(() => undefined, 1000)`)
  const program = `require('node:child_process').fork('${worker}')`
  const runner = spawn(process.execPath, ['--eval', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  const pid = await new Promise<number>((resolve) => runner.stdout.once('data', (data) => resolve(Number(data))))
  expect(isAlive(pid)).toBe(true)
  runner.kill('SIGKILL')
  await eventually('the end of the worker', async () => !isAlive(pid))
})
