import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createElection, LeaseLostError } from './election.ts'
import { silentLog } from './log.ts'
import { createKubeMetrics } from './metrics.ts'
import { createLeaseServer } from './testing/leaseServer.ts'

const ref = { namespace: 'home', name: 'x' }

const createElectionTest = () => {
  const clock = createFakeClock(Date.UTC(2026, 0, 1))
  const server = createLeaseServer()
  const runDueCallbacks = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve))
  }
  return {
    clock,
    server,
    /** Advances the clock in steps of `stepMs`, and runs what is due after each step. */
    advanceTime: async (ms: number, stepMs = 100): Promise<void> => {
      await runDueCallbacks()
      for (let passed = 0; passed < ms; passed += stepMs) {
        clock.advance(stepMs)
        await runDueCallbacks()
      }
    },
    addCandidate: (identity: string) => {
      const { client, faults, written, answer } = server.client()
      const registry = new Registry()
      const election = createElection({
        client,
        ref,
        identity,
        clock,
        random: () => 0.5,
        log: silentLog,
        metrics: createKubeMetrics(registry),
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

test('acquires a free lease and renews it every four seconds', async () => {
  const { addCandidate, advanceTime, server } = createElectionTest()
  const one = addCandidate('one')
  expect(one.mayWrite()).toBe(false)
  await advanceTime(10_000)
  expect(one.observed).toMatchObject({ led: true, ended: undefined })
  expect(one.mayWrite()).toBe(true)
  expect(server.current()?.spec).toEqual({
    holderIdentity: 'one',
    leaseDurationSeconds: 15,
    acquireTime: '2026-01-01T00:00:00.000000Z',
    renewTime: '2026-01-01T00:00:08.000000Z',
    leaseTransitions: 0,
  })
  expect(one.written).toHaveLength(3)
  expect(await one.registry.metrics()).toContain('leader_election_master_status{name="x"} 1')
})

test('neither leads nor writes as a standby while the leader renews', async () => {
  const { addCandidate, advanceTime } = createElectionTest()
  addCandidate('one')
  await advanceTime(100)
  const two = addCandidate('two')
  await advanceTime(60_000)
  expect(two.observed.led).toBe(false)
  expect(two.mayWrite()).toBe(false)
  expect(two.election.alive()).toBe(true)
  expect(two.written).toEqual([])
  expect(await two.registry.metrics()).toContain('leader_election_master_status{name="x"} 0')
})

test('takes over from a silent leader after fifteen seconds, not earlier', async () => {
  const { addCandidate, advanceTime, server } = createElectionTest()
  const one = addCandidate('one')
  const two = addCandidate('two')
  await advanceTime(12_000)
  one.faults.get = 'silent'
  one.faults.write = 'silent'
  await advanceTime(14_900)
  expect(two.observed.led).toBe(false)
  await advanceTime(200)
  expect(two.observed.led).toBe(true)
  expect(server.current()?.spec).toMatchObject({ holderIdentity: 'two', leaseTransitions: 1 })
})

test('waits out the lease duration of another holder, however old its renewTime is', async () => {
  const { addCandidate, advanceTime, server } = createElectionTest()
  server.put({ holderIdentity: 'old', leaseDurationSeconds: 15, renewTime: '2001-01-01T00:00:00.000000Z' })
  const one = addCandidate('one')
  await advanceTime(14_900)
  expect(one.observed.led).toBe(false)
  await advanceTime(200)
  expect(one.observed.led).toBe(true)
})

test('keeps the same leader when the wall clock jumps forward or back', async () => {
  const { addCandidate, clock, advanceTime } = createElectionTest()
  const one = addCandidate('one')
  const two = addCandidate('two')
  await advanceTime(5_000)
  clock.jump(600_000)
  await advanceTime(5_000)
  clock.jump(-1_200_000)
  await advanceTime(60_000)
  expect(one.observed).toMatchObject({ led: true, ended: undefined })
  expect(one.mayWrite()).toBe(true)
  expect(two.observed.led).toBe(false)
})

test('releases the lease on shutdown once its work has ended, and a standby takes over at once', async () => {
  const { addCandidate, advanceTime, server } = createElectionTest()
  const one = addCandidate('one')
  await advanceTime(100)
  const two = addCandidate('two')
  await advanceTime(5_000)
  one.stop.abort()
  await advanceTime(3_000)
  expect(one.observed).toMatchObject({ aborted: true, ended: undefined })
  expect(one.mayWrite()).toBe(true)
  expect(two.observed.led).toBe(false)
  one.finish()
  await advanceTime(0)
  expect(one.observed.ended).toBe('released')
  expect(one.mayWrite()).toBe(false)
  expect(two.observed.led).toBe(true)
  expect(server.current()?.spec).toMatchObject({ holderIdentity: 'two', leaseTransitions: 1 })
})

test('takes over a released lease within the retry interval if the watch reports nothing', async () => {
  const { addCandidate, advanceTime } = createElectionTest()
  const one = addCandidate('one')
  await advanceTime(100)
  const two = addCandidate('two')
  two.faults.watch = false
  await advanceTime(5_000)
  one.stop.abort()
  one.finish()
  await advanceTime(2_400)
  expect(two.observed.led).toBe(true)
})

test('refuses writes ten seconds after the last renewal, five seconds before another replica leads', async () => {
  const { addCandidate, advanceTime } = createElectionTest()
  const one = addCandidate('one')
  await advanceTime(12_000)
  const two = addCandidate('two')
  await advanceTime(100)
  one.faults.write = 'refused'
  one.faults.get = 'refused'
  await advanceTime(9_800)
  expect(one.mayWrite()).toBe(true)
  expect(one.observed.ended).toBeUndefined()
  await advanceTime(200)
  expect(one.mayWrite()).toBe(false)
  expect(one.observed).toMatchObject({ aborted: true })
  expect(one.observed.ended).toBeInstanceOf(LeaseLostError)
  expect(one.election.fence.closed.aborted).toBe(true)
  expect(two.observed.led).toBe(false)
  await advanceTime(5_000)
  expect(two.observed.led).toBe(true)
})

test('refuses writes at once after a pause longer than the lease, and never leads again', async () => {
  const { addCandidate, clock, advanceTime, server } = createElectionTest()
  const one = addCandidate('one')
  await advanceTime(1_000)
  server.put({ holderIdentity: 'two', leaseDurationSeconds: 15, leaseTransitions: 1 })
  server.put({ holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 1 })
  const before = one.written.length
  clock.advance(60_000)
  expect(one.mayWrite()).toBe(false)
  await advanceTime(30_000)
  expect(one.observed.ended).toBeInstanceOf(LeaseLostError)
  expect(one.mayWrite()).toBe(false)
  expect(one.written).toHaveLength(before)
})

test('stops leading at once when its lease is taken over or deleted', async () => {
  for (const takeAway of ['put', 'remove'] as const) {
    const { addCandidate, advanceTime, server } = createElectionTest()
    const one = addCandidate('one')
    await advanceTime(1_000)
    if (takeAway === 'put') server.put({ holderIdentity: 'two', leaseDurationSeconds: 15 })
    else server.remove()
    await advanceTime(0)
    expect(one.observed.ended).toBeInstanceOf(LeaseLostError)
    expect(one.mayWrite()).toBe(false)
  }
})

test('keeps the lease when the response to a renewal is lost', async () => {
  const { addCandidate, advanceTime } = createElectionTest()
  const one = addCandidate('one')
  await advanceTime(3_000)
  one.faults.write = 'lost'
  await advanceTime(2_000)
  delete one.faults.write
  await advanceTime(20_000)
  expect(one.observed).toMatchObject({ led: true, aborted: false, ended: undefined })
  expect(one.mayWrite()).toBe(true)
})

test('tries a failed renewal again every two seconds', async () => {
  const { addCandidate, advanceTime } = createElectionTest()
  const one = addCandidate('one')
  await advanceTime(3_900)
  one.faults.write = 'refused'
  await advanceTime(4_000)
  delete one.faults.write
  await advanceTime(200)
  expect(one.written).toHaveLength(2)
  expect(one.observed).toMatchObject({ led: true, aborted: false, ended: undefined })
})

test('counts a renewal from when it was sent, however late its response arrives', async () => {
  const { addCandidate, advanceTime } = createElectionTest()
  const one = addCandidate('one')
  await advanceTime(3_900)
  one.faults.write = 'slow'
  await advanceTime(4_100)
  one.faults.write = 'silent'
  one.answer()
  await advanceTime(5_900)
  expect(one.mayWrite()).toBe(true)
  await advanceTime(200)
  expect(one.mayWrite()).toBe(false)
})

test('gives a free lease to exactly one of many candidates', async () => {
  const { addCandidate, advanceTime } = createElectionTest()
  const all = Array.from({ length: 8 }, (_, index) => addCandidate(`c${index}`))
  await advanceTime(5_000)
  expect(all.filter(({ observed }) => observed.led)).toHaveLength(1)
  expect(all.filter(({ mayWrite }) => mayWrite())).toHaveLength(1)
})

test('leads at once if the lease already has its identity', async () => {
  const { addCandidate, advanceTime, server } = createElectionTest()
  server.put({ holderIdentity: 'one', leaseDurationSeconds: 15, leaseTransitions: 3 })
  const one = addCandidate('one')
  await advanceTime(0)
  expect(one.observed.led).toBe(true)
  expect(server.current()?.spec?.leaseTransitions).toBe(3)
})

test('rejects a timing with which a leader would outlast its lease', () => {
  const { client } = createLeaseServer().client()
  const timing = { durationMs: 10_000, renewDeadlineMs: 10_000, retryMs: 2_000 }
  const clock = createFakeClock()
  expect(() =>
    createElection({ client, ref, identity: 'one', timing, clock, random: Math.random, log: silentLog }),
  ).toThrow(RangeError)
})
