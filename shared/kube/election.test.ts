import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createElection, LeaseLostError } from './election.ts'
import { silentLog } from './log.ts'
import { createKubeMetrics } from './metrics.ts'
import { createLeaseServer } from './testing/leaseServer.ts'

const ref = { namespace: 'home', name: 'x' }

const aContest = () => {
  const clock = createFakeClock(Date.UTC(2026, 0, 1))
  const server = createLeaseServer()
  const settled = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve))
  }
  return {
    clock,
    server,
    /** Lets time pass in small steps, and what it causes happen. */
    pass: async (ms: number, stepMs = 100): Promise<void> => {
      await settled()
      for (let passed = 0; passed < ms; passed += stepMs) {
        clock.advance(stepMs)
        await settled()
      }
    },
    candidate: (identity: string) => {
      const { client, faults, written, answer } = server.client()
      const registry = new Registry()
      const election = createElection({
        ...{ client, ref, identity, clock, random: () => 0.5, log: silentLog, metrics: createKubeMetrics(registry) },
      })
      const stop = new AbortController()
      const observed = { led: false, aborted: false, ended: undefined as undefined | 'released' | Error }
      let finish = (): void => {}
      const running = election
        .run(stop.signal, async (signal) => {
          observed.led = true
          signal.addEventListener('abort', () => {
            observed.aborted = true
          })
          await new Promise<void>((resolve) => {
            finish = resolve
          })
        })
        .then(
          () => {
            observed.ended = 'released'
          },
          (error: Error) => {
            observed.ended = error
          },
        )
      const mayWrite = (): boolean => election.fence.refusal() === undefined
      return { election, faults, written, answer, observed, running, registry, stop, finish: () => finish(), mayWrite }
    },
  }
}

test('the first who asks leads, and renews every two seconds', async () => {
  const { candidate, pass, server } = aContest()
  const one = candidate('one')
  expect(one.mayWrite()).toBe(false)
  await pass(10_000)
  expect(one.observed).toMatchObject({ led: true, ended: undefined })
  expect(one.mayWrite()).toBe(true)
  expect(server.current()?.spec).toEqual({
    holderIdentity: 'one',
    leaseDurationSeconds: 15,
    acquireTime: '2026-01-01T00:00:00.000000Z',
    renewTime: '2026-01-01T00:00:10.000000Z',
    leaseTransitions: 0,
  })
  expect(one.written).toHaveLength(6)
  expect(await one.registry.metrics()).toContain('leader_election_master_status{name="x"} 1')
})

test('a standby waits while the leader renews, and does not write', async () => {
  const { candidate, pass } = aContest()
  candidate('one')
  await pass(100)
  const two = candidate('two')
  await pass(60_000)
  expect(two.observed.led).toBe(false)
  expect(two.mayWrite()).toBe(false)
  expect(two.election.alive()).toBe(true)
  expect(two.written).toEqual([])
  expect(await two.registry.metrics()).toContain('leader_election_master_status{name="x"} 0')
})

test('a leader that falls silent is followed after fifteen seconds, and not a moment before', async () => {
  const { candidate, pass, server } = aContest()
  const one = candidate('one')
  const two = candidate('two')
  await pass(10_000)
  one.faults.get = 'silent'
  one.faults.write = 'silent'
  await pass(14_900)
  expect(two.observed.led).toBe(false)
  await pass(200)
  expect(two.observed.led).toBe(true)
  expect(server.current()?.spec).toMatchObject({ holderIdentity: 'two', leaseTransitions: 1 })
})

test("the others' clocks are not believed: a lease from the past is waited for, too", async () => {
  const { candidate, pass, server } = aContest()
  server.put({ holderIdentity: 'old', leaseDurationSeconds: 15, renewTime: '2001-01-01T00:00:00.000000Z' })
  const one = candidate('one')
  await pass(14_900)
  expect(one.observed.led).toBe(false)
  await pass(200)
  expect(one.observed.led).toBe(true)
})

test('a clock that is set forward or back neither loses a lease nor wins one', async () => {
  const { candidate, clock, pass } = aContest()
  const one = candidate('one')
  const two = candidate('two')
  await pass(5_000)
  clock.jump(600_000)
  await pass(5_000)
  clock.jump(-1_200_000)
  await pass(60_000)
  expect(one.observed).toMatchObject({ led: true, ended: undefined })
  expect(one.mayWrite()).toBe(true)
  expect(two.observed.led).toBe(false)
})

test('a leader that stops releases the lease once its work has ended, and a standby follows at once', async () => {
  const { candidate, pass, server } = aContest()
  const one = candidate('one')
  await pass(100)
  const two = candidate('two')
  await pass(5_000)
  one.stop.abort()
  await pass(3_000)
  expect(one.observed).toMatchObject({ aborted: true, ended: undefined })
  expect(one.mayWrite()).toBe(true)
  expect(two.observed.led).toBe(false)
  one.finish()
  await pass(0)
  expect(one.observed.ended).toBe('released')
  expect(one.mayWrite()).toBe(false)
  expect(two.observed.led).toBe(true)
  expect(server.current()?.spec).toMatchObject({ holderIdentity: 'two', leaseTransitions: 1 })
})

test('a standby whose watch tells it nothing follows within its own interval', async () => {
  const { candidate, pass } = aContest()
  const one = candidate('one')
  await pass(100)
  const two = candidate('two')
  two.faults.watch = false
  await pass(5_000)
  one.stop.abort()
  one.finish()
  await pass(2_400)
  expect(two.observed.led).toBe(true)
})

test('a leader that cannot renew may not write after ten seconds, five before another leads', async () => {
  const { candidate, pass } = aContest()
  const one = candidate('one')
  await pass(10_000)
  const two = candidate('two')
  await pass(100)
  one.faults.write = 'refused'
  one.faults.get = 'refused'
  await pass(9_800)
  expect(one.mayWrite()).toBe(true)
  expect(one.observed.ended).toBeUndefined()
  await pass(200)
  expect(one.mayWrite()).toBe(false)
  expect(one.observed).toMatchObject({ aborted: true })
  expect(one.observed.ended).toBeInstanceOf(LeaseLostError)
  expect(one.election.fence.closed.aborted).toBe(true)
  expect(two.observed.led).toBe(false)
  await pass(5_000)
  expect(two.observed.led).toBe(true)
})

test('a leader that was frozen past its lease may not write from its first moment on, and never leads again', async () => {
  const { candidate, clock, pass, server } = aContest()
  const one = candidate('one')
  await pass(1_000)
  server.put({ holderIdentity: 'two', leaseDurationSeconds: 15, leaseTransitions: 1 })
  server.put({ holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 1 })
  const before = one.written.length
  clock.advance(60_000)
  expect(one.mayWrite()).toBe(false)
  await pass(30_000)
  expect(one.observed.ended).toBeInstanceOf(LeaseLostError)
  expect(one.mayWrite()).toBe(false)
  expect(one.written).toHaveLength(before)
})

test('a leader whose lease another took, or somebody deleted, ends at once', async () => {
  for (const takeAway of ['put', 'remove'] as const) {
    const { candidate, pass, server } = aContest()
    const one = candidate('one')
    await pass(1_000)
    if (takeAway === 'put') server.put({ holderIdentity: 'two', leaseDurationSeconds: 15 })
    else server.remove()
    await pass(0)
    expect(one.observed.ended).toBeInstanceOf(LeaseLostError)
    expect(one.mayWrite()).toBe(false)
  }
})

test('a renewal whose answer is lost keeps the lease', async () => {
  const { candidate, pass } = aContest()
  const one = candidate('one')
  await pass(3_000)
  one.faults.write = 'lost'
  await pass(2_000)
  delete one.faults.write
  await pass(20_000)
  expect(one.observed).toMatchObject({ led: true, aborted: false, ended: undefined })
  expect(one.mayWrite()).toBe(true)
})

test('a renewal counts from when it was begun, however late its answer comes', async () => {
  const { candidate, pass } = aContest()
  const one = candidate('one')
  await pass(1_900)
  one.faults.write = 'slow'
  await pass(4_100)
  one.faults.write = 'silent'
  one.answer()
  await pass(5_900)
  expect(one.mayWrite()).toBe(true)
  await pass(200)
  expect(one.mayWrite()).toBe(false)
})

test('of many who want a free lease, one gets it', async () => {
  const { candidate, pass } = aContest()
  const all = Array.from({ length: 8 }, (_, index) => candidate(`c${index}`))
  await pass(5_000)
  expect(all.filter(({ observed }) => observed.led)).toHaveLength(1)
  expect(all.filter(({ mayWrite }) => mayWrite())).toHaveLength(1)
})

test('a process that finds its own identity in the lease need not wait', async () => {
  const { candidate, pass, server } = aContest()
  server.put({ holderIdentity: 'one', leaseDurationSeconds: 15, leaseTransitions: 3 })
  const one = candidate('one')
  await pass(0)
  expect(one.observed.led).toBe(true)
  expect(server.current()?.spec?.leaseTransitions).toBe(3)
})

test('a timing in which a leader would outlast its lease is refused', () => {
  const { client } = createLeaseServer().client()
  const timing = { durationMs: 10_000, renewDeadlineMs: 10_000, retryMs: 2_000 }
  const clock = createFakeClock()
  expect(() =>
    createElection({ client, ref, identity: 'one', timing, clock, random: Math.random, log: silentLog }),
  ).toThrow(RangeError)
})
