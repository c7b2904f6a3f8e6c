import { setImmediate as turn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import { ownStatus } from '#operator/lifecycle/execute/status.ts'
import { createRunClock } from '#operator/lifecycle/runClock.ts'
import type { Pod } from '#operator/pods/pod.ts'
import { isReady } from '#operator/pods/podState.ts'
import { runB, startMs } from '#operator/testing/common.ts'
import { allotPorts, aWorld, evicted, notReady, podOfRun, ready, running, settings } from '#operator/testing/world.ts'
import { withDefined } from '#shared/optional.ts'
import type { World, WorldSpecInput } from '#shared/resources/world.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { fc } from '#test/support/fastCheck.ts'
import { findAskedServer } from '../askedServer.ts'
import { createHostPortUse } from '../hostPorts.ts'
import { plan } from '../plan.ts'
import type { ServerAnswer } from '../query/answer.ts'
import type { PlanInput } from '../step.ts'
import { createQueuePoll } from './queuePoll.ts'

const minuteMs = 60_000
const key = 'default/world'
/** Each state lasts longer than three polls, so that the operator can see it. */
const eventMs = 20_000

const report = (players: number, queued: number): ServerAnswer => ({ kind: 'report', report: { players, queued } })
const nobody = report(0, 0)

/** A world with its operator: plans, polls and clocks as in production, without an API server. */
const simulate = (spec: WorldSpecInput) => {
  const clock = createFakeClock(startMs)
  let world: World = aWorld(spec)
  let pod: Pod | undefined
  let answer: ServerAnswer | undefined = nobody
  let hasBots = false
  let made = 0
  let writes = 0
  let isDirty = true
  let wakeAtMs = Number.POSITIVE_INFINITY
  /** The true time since which nothing keeps the world awake. */
  let emptySinceMs = Number.POSITIVE_INFINITY
  let jumpedMs = 0

  const openOperator = () => {
    const ask = async (): Promise<ServerAnswer | undefined> => answer
    const changed = (): void => {
      isDirty = true
    }
    const poll = createQueuePoll({ ask, clock, random: () => 0.5, changed })
    return { poll, runClock: createRunClock(clock), hostPorts: createHostPortUse(settings.hostPorts) }
  }
  let operator = openOperator()

  const isEmpty = (): boolean =>
    answer === nobody && !hasBots && pod !== undefined && isReady(pod) && world.spec.idleStopMinutes !== undefined
  const observeTruth = (): void => {
    emptySinceMs = isEmpty() ? Math.min(emptySinceMs, clock.monotonic()) : Number.POSITIVE_INFINITY
  }
  const hasEnded = (): boolean => world.status?.run?.endReason !== undefined

  const expectJustified = ({ spec: { idleStopMinutes = 0 } }: World): void => {
    expect(isEmpty(), 'a world with a player falls asleep').toBe(true)
    expect(clock.monotonic() - emptySinceMs, 'a world sleeps too soon').toBeGreaterThanOrEqual(
      idleStopMinutes * minuteMs,
    )
  }

  const reconcileOnce = (): { readonly isAgain: boolean } => {
    const { poll, runClock, hostPorts } = operator
    const uid = pod?.metadata.uid ?? ''
    const input: PlanInput = {
      world,
      pod,
      queried: poll.report(key, uid),
      answerAgeMs: poll.answerAgeMs(key, uid),
      hasBots,
      nowMs: runClock.now(key, world.spec.runId),
      settings,
      node: undefined,
      service: undefined,
      route: 'unserved',
      serviceUnusedMs: 0,
      policy: {},
      newRunId: () => runB,
      allotPorts,
      hostPorts: hostPorts.of(key),
    }
    const { steps, status, deferStatus, requeueAfterMs = Number.POSITIVE_INFINITY } = plan(input)
    if (!hasEnded() && status.run?.endReason === 'Idle') expectJustified(world)
    for (const step of steps) {
      if (step.verb === 'createPod') {
        const built = podOfRun(step.run, `pod-${made}`)
        pod = { ...built, status: ready(clock.now()) }
        made += 1
      } else if (step.verb === 'deletePod') pod = undefined
      else throw new Error(`unexpected step ${step.verb}`)
    }
    const asked = findAskedServer(input, status)
    if (asked === undefined) poll.stop(key)
    else poll.start(key, asked)
    const isWritten = deferStatus !== true && !isDeepStrictEqual(ownStatus(world.status), ownStatus(status))
    if (isWritten) {
      writes += 1
      world = { ...world, status }
    }
    wakeAtMs = clock.monotonic() + requeueAfterMs
    return { isAgain: isWritten || steps.length > 0 || requeueAfterMs <= 0 }
  }

  const reconcile = (): void => {
    isDirty = false
    for (let round = 0; reconcileOnce().isAgain; round += 1) {
      if (round > 20) throw new Error('The world did not settle in 20 reconciles.')
    }
  }

  /** Lets time pass, with all polls and reconciles that are due. */
  const pass = async (ms: number): Promise<void> => {
    const untilMs = clock.monotonic() + ms
    while (clock.monotonic() < untilMs) {
      clock.advance(Math.min(1_000, untilMs - clock.monotonic()))
      await turn()
      if (isDirty || clock.monotonic() >= wakeAtMs) reconcile()
      observeTruth()
    }
  }

  /** Makes a change, and lets the operator see it. */
  const after = async (change: () => void): Promise<void> => {
    change()
    observeTruth()
    isDirty = true
    await pass(eventMs)
  }

  const onPod = (status: () => NonNullable<Pod['status']>) => (): void => {
    if (pod === undefined || pod.status?.phase === 'Failed') return
    pod = { ...pod, status: status() }
  }
  const edit = (idleStopMinutes: number | undefined) => (): void => {
    const { idleStopMinutes: _, ...rest } = world.spec
    world = {
      ...world,
      metadata: { ...world.metadata, generation: (world.metadata.generation ?? 0) + 1 },
      spec: { ...rest, ...withDefined({ idleStopMinutes }) },
    }
  }
  const give = (next: ServerAnswer | undefined) => (): void => {
    answer = next
  }

  const jump = (ms: number) => (): void => {
    jumpedMs += ms
    clock.jump(ms)
  }
  const restart = (): void => {
    operator.poll.close()
    operator = openOperator()
  }

  const changes = {
    playersCome: give(report(3, 0)),
    playersWait: give(report(0, 2)),
    playersLeave: give(nobody),
    serverFallsSilent: give(undefined),
    countsAreImpossible: give(report(-1, 0)),
    serverAnswersOtherwise: give({ kind: 'fault', fault: 'is not JSON' }),
    serverIsNotReady: onPod(() => notReady(clock.now())),
    serverIsReady: onPod(() => ready(clock.now())),
    serverIsLost: onPod(() => evicted),
    botsCome: () => {
      hasBots = true
    },
    botsGo: () => {
      hasBots = false
    },
    sleepsAfter1Minute: edit(1),
    sleepsAfter5Minutes: edit(5),
    neverSleeps: edit(undefined),
    clockJumpsAhead: jump(3 * 60 * minuteMs),
    clockJumpsBack: jump(-5 * 60 * minuteMs),
    operatorRestarts: () => {
      // The time comes from the API server when a process begins.
      jump(-jumpedMs)()
      restart()
    },
  } satisfies Record<string, () => void>
  return {
    changes,
    after,
    pass,
    restart,
    hasEnded,
    world: () => world,
    writes: () => writes,
    close: () => operator.poll.close(),
  }
}

type ChangeName = keyof ReturnType<typeof simulate>['changes']
const names = Object.keys(simulate(running).changes) as ChangeName[]
const aSpec = fc.constantFrom<WorldSpecInput[]>(
  { ...running, idleStopMinutes: 3 },
  { ...running, idleStopMinutes: 3, runtime: { query: { protocol: 'A2S' } } },
  { ...running, idleStopMinutes: 3, runtime: { probes: false, query: { protocol: 'Http' } } },
)
/** A change of the world, and for how many minutes nothing else happens. */
const aChange = fc.tuple(fc.constantFrom(...names), fc.constantFrom(0, 0, 0, 2, 4))

test('after any changes, a world sleeps only when nobody was in it for its time, and then it does, and writes nothing more', async () => {
  await fc.assert(
    fc.asyncProperty(aSpec, fc.array(aChange, { maxLength: 15 }), async (spec, sequence) => {
      const simulation = simulate(spec)
      const { changes, after, pass, world } = simulation
      await pass(eventMs)
      for (const [name, minutes] of sequence) {
        await after(changes[name])
        await pass(minutes * minuteMs)
      }
      // Everybody leaves, and polls of a silent server are at most five minutes apart.
      for (const name of ['playersLeave', 'botsGo', 'serverIsReady', 'sleepsAfter5Minutes'] as const) {
        await after(changes[name])
      }
      await pass(15 * minuteMs)
      expect(world().status?.run?.endReason).toBe('Idle')
      expect(world().status).toMatchObject({ phase: 'Stopped', idle: { asleepSince: expect.any(String) } })
      const before = simulation.writes()
      simulation.restart()
      await after(changes.clockJumpsAhead)
      await pass(10 * minuteMs)
      expect(simulation.writes() - before).toBe(0)
      simulation.close()
    }),
    { numRuns: 60 },
  )
})

test.each([0, 1, 2, 3, 4])(
  'a player who comes as idleStopMinutes is shortened keeps the world awake (second %s)',
  async (seconds) => {
    const simulation = simulate({ ...running, idleStopMinutes: 5 })
    const { changes, after, pass } = simulation
    await pass(2 * minuteMs + seconds * 1_000)
    await after(() => {
      changes.playersCome()
      changes.sleepsAfter1Minute()
    })
    await pass(2 * minuteMs)
    expect(simulation.hasEnded()).toBe(false)
    simulation.close()
  },
)

test.each([0, 1, 2, 3, 4])(
  'a shorter idleStopMinutes ends an empty run at its next answer, and writes once before (second %s)',
  async (seconds) => {
    const simulation = simulate({ ...running, idleStopMinutes: 5 })
    const { changes, after, pass } = simulation
    await pass(2 * minuteMs + seconds * 1_000)
    const before = simulation.writes()
    await after(changes.sleepsAfter1Minute)
    expect(simulation.world().status).toMatchObject({ phase: 'Stopped', run: { endReason: 'Idle' } })
    // The edit, the end of the run, and the end of its server.
    expect(simulation.writes() - before).toBeLessThanOrEqual(3)
    simulation.close()
  },
)

test('a world with players, and one without, writes nothing while nothing changes', async () => {
  await fc.assert(
    fc.asyncProperty(
      aSpec,
      fc.constantFrom(
        'playersCome',
        'playersWait',
        'serverFallsSilent',
        'countsAreImpossible',
        'botsCome',
        'playersLeave',
      ),
      fc.array(fc.constantFrom('clockJumpsAhead', 'clockJumpsBack', 'operatorRestarts'), { maxLength: 5 }),
      async (spec, state, disturbances) => {
        const simulation = simulate({ ...spec, idleStopMinutes: 43_200 })
        const { changes, after, pass } = simulation
        await pass(eventMs)
        await after(changes[state])
        const before = simulation.writes()
        for (const name of disturbances) await after(changes[name])
        await pass(10 * minuteMs)
        expect(simulation.writes() - before).toBe(0)
        expect(simulation.hasEnded()).toBe(false)
        simulation.close()
      },
    ),
    { numRuns: 40 },
  )
})
