import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, onTestFailed, test } from 'vitest'

const dir = mkdtempSync(join(tmpdir(), 'orrery-runner-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

test('a worker ends when its runner is killed', async () => {
  const worker = join(dir, 'worker.mjs')
  const setupFile = new URL('endWithRunner.ts', import.meta.url).href
  writeFileSync(worker, `await import('${setupFile}'); console.log('ready'); setInterval(() => undefined, 1000)`)
  const program = `require('node:child_process').fork('${worker}')`
  const runner = spawn(process.execPath, ['--eval', program], { stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  onTestFailed(() => void process.kill(-(runner.pid ?? 0), 'SIGKILL'))
  await once(runner.stdout, 'data')
  // The worker has inherited the runner's output, so that it closes only when both have ended.
  const end = once(runner, 'close')
  runner.kill('SIGKILL')
  await end
})
