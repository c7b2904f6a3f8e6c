import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
  readyTimeoutMs: 5_000,
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
    const options = aService('console.log(process.pid); setInterval(() => undefined, 1000)', { ready: never })
    const message = await startService({ ...options, readyTimeoutMs: 500 }).catch((error: Error) => error.message)
    expect(message).toMatch(/^example was not ready within 500 ms/)
    const pid = Number(/\n(\d+)$/.exec(String(message))?.[1])
    expect(() => process.kill(pid, 0)).toThrow('ESRCH')
  })

  test('that ends during a readiness check is not waited for', async () => {
    await expect(startService(aService('process.exit(1)', { ready: never, readyTimeoutMs: 9_000 }))).rejects.toThrow(
      'ended before it was ready',
    )
  })
})
