import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type ServiceOptions, startService } from './process.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'orrery-process-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const aService = (code: string, more: Partial<ServiceOptions> = {}): ServiceOptions => ({
  name: 'example',
  command: process.execPath,
  args: ['-e', code],
  logFile: join(dir, 'logs', 'example.log'),
  ready: async () => true,
  readyTimeoutMs: 60_000,
  ...more,
})
const runs = 'setInterval(() => undefined, 1000)'
const never = () => new Promise<boolean>(() => undefined)

describe('a service', () => {
  test('runs until it is stopped, and may be stopped twice', async () => {
    const service = await startService(aService(runs))
    expect(service.hasExited()).toBe(false)
    await service.stop()
    await service.stop()
    expect(service.hasExited()).toBe(true)
    expect(await service.exited).toEqual({ code: null, signal: 'SIGTERM' })
  })

  test('that ignores SIGTERM is killed after the timeout', async () => {
    const code = `process.on('SIGTERM', () => undefined); require('node:fs').writeFileSync('ready', ''); ${runs}`
    const service = await startService(aService(code, { cwd: dir, ready: async () => existsSync(join(dir, 'ready')) }))
    await service.stop({ timeoutMs: 50 })
    expect(await service.exited).toEqual({ code: null, signal: 'SIGKILL' })
  })

  test('that ends before it is ready is an error with the end of its log', async () => {
    const code = 'console.error("no space left"); process.exit(3)'
    await expect(startService(aService(code, { ready: async () => false }))).rejects.toThrow(
      /^example ended before it was ready.*example\.log:\nno space left$/s,
    )
  })

  test('without its program is an error that names the program', async () => {
    await expect(startService(aService('', { command: '/no/such/program' }))).rejects.toThrow(
      'example cannot be started: spawn /no/such/program ENOENT',
    )
  })

  test('is ended if it is not ready in time, even if a readiness check never returns', async () => {
    // A shell writes its pid long before the timeout, also on a busy machine.
    const shell = { command: 'sh', args: ['-c', 'echo $$; exec sleep 1000'] }
    const options = aService('', { ...shell, ready: never, readyTimeoutMs: 2_000 })
    const message = await startService(options).catch((error: Error) => error.message)
    expect(message).toMatch(/^example was not ready within 2000 ms/)
    const pid = Number(/\n(\d+)$/.exec(String(message))?.[1])
    expect(() => process.kill(pid, 0)).toThrow('ESRCH')
  })

  test('has one readiness check at a time, which ends before the next one starts', async () => {
    let [running, most, started] = [0, 0, 0]
    const ready = async (signal: AbortSignal): Promise<boolean> => {
      started += 1
      running += 1
      most = Math.max(most, running)
      // A slow check, which ignores its signal.
      if (started === 1) await once(signal, 'abort').then(() => setImmediate())
      running -= 1
      return started > 1
    }
    const service = await startService(aService(runs, { ready, readyTimeoutMs: 60_000 }))
    expect([most, started]).toEqual([1, 2])
    await service.stop()
  })

  test('that ends during a readiness check is not waited for', async () => {
    await expect(startService(aService('process.exit(1)', { ready: never, readyTimeoutMs: 60_000 }))).rejects.toThrow(
      'ended before it was ready',
    )
  })
})
