import { beforeEach, describe, expect, test } from 'vitest'
import { createFakeClock, type FakeClock } from '#test/support/fakeClock.ts'
import { eventually } from '#test/support/wait.ts'
import type { Service } from './process.ts'
import { supervise } from './supervise.ts'

/** A service without a process: a test ends it. */
const createService = () => {
  const exit = Promise.withResolvers<{ code: number | null; signal: string | null }>()
  let hasExited = false
  const end = (code: number | null, signal: string | null): void => {
    hasExited = true
    exit.resolve({ code, signal })
  }
  const service: Service = {
    name: 'api',
    pid: 1,
    exited: exit.promise,
    hasExited: () => hasExited,
    stop: async () => end(null, 'SIGTERM'),
    signal: (name) => end(null, name),
  }
  return { ...service, end }
}

let clock: FakeClock
let lines: string[]
let started: ReturnType<typeof createService>[]
beforeEach(() => {
  clock = createFakeClock()
  lines = []
  started = []
})
const start = async (): Promise<Service> => {
  const service = createService()
  started.push(service)
  return service
}
const superviseApi = (startApi = start) => supervise(startApi, { clock, progress: (line) => lines.push(line) })

const endLast = async (code: number): Promise<void> => {
  const count = lines.length
  started.at(-1)?.end(code, null)
  await eventually('a reaction', async () => lines.length > count)
}
const restartCount = (count: number) => eventually(`${count} starts`, async () => started.length === count + 1)

describe('a supervised service', () => {
  test('is restarted when it ends, with a backoff that doubles', async () => {
    const api = await superviseApi()
    await endLast(3)
    clock.advance(249)
    expect(started).toHaveLength(1)
    clock.advance(1)
    await restartCount(1)
    await endLast(4)
    clock.advance(500)
    await restartCount(2)
    expect(lines).toEqual([
      'the api ended: exit code 3; restart 1 of 5 in 250 ms',
      'the api ended: exit code 4; restart 2 of 5 in 500 ms',
    ])
    await api.stop()
  })

  test('is not restarted after its sixth end within a minute', async () => {
    const api = await superviseApi()
    for (let restart = 1; restart <= 5; restart += 1) {
      await endLast(1)
      clock.advance(10_000)
      await restartCount(restart)
    }
    started.at(-1)?.end(9, null)
    expect(await api.gaveUp).toBe('The api ended 6 times within a minute. Last reason: exit code 9')
    await api.stop()
    expect(started).toHaveLength(6)
  })

  test('gets five new restarts in the next minute', async () => {
    const api = await superviseApi()
    for (let restart = 1; restart <= 12; restart += 1) {
      await endLast(1)
      clock.advance(15_000)
      await restartCount(restart)
    }
    await api.stop()
  })

  test('counts a restart that fails', async () => {
    let isBroken = false
    const api = await superviseApi(async () => {
      if (isBroken) throw new Error('not ready within 60 s')
      return start()
    })
    isBroken = true
    await endLast(1)
    for (let restart = 2; restart <= 5; restart += 1) {
      clock.advance(10_000)
      await eventually(`restart ${restart}`, async () => lines.length === restart)
    }
    clock.advance(10_000)
    expect(await api.gaveUp).toBe('The api ended 6 times within a minute. Last reason: not ready within 60 s')
  })

  test('is not restarted after a stop, neither while it runs nor during a backoff or a restart', async () => {
    const running = await superviseApi()
    await running.stop()
    const waiting = await superviseApi()
    await endLast(1)
    await waiting.stop()
    expect(clock.pending).toBe(0)

    const gate = Promise.withResolvers<void>()
    let isFirst = true
    const restarting = await superviseApi(async () => {
      if (!isFirst) await gate.promise
      isFirst = false
      return start()
    })
    await endLast(1)
    clock.advance(250)
    const stopped = restarting.stop()
    gate.resolve()
    await stopped
    expect(started.every((service) => service.hasExited())).toBe(true)
  })

  test('throws the error of its first start', async () => {
    await expect(superviseApi(() => Promise.reject(new Error('no database')))).rejects.toThrow('no database')
  })
})
