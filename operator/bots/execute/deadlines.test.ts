import { expect, test } from 'vitest'
import { createRunClock } from '#operator/lifecycle/runClock.ts'
import { active, settings, someBots } from '#operator/testing/bots.ts'
import { startMs } from '#operator/testing/common.ts'
import { silentLog } from '#shared/kube/log.ts'
import { objectKey } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { botDeploymentResource } from '#shared/resources/group.ts'
import { noTracing } from '#shared/tracing/tracing.ts'
import { createFakeClock, type FakeClock } from '#test/support/fakeClock.ts'
import { type BotDeps, reconcileBots } from './reconcile.ts'

const minuteMs = 60_000

/** A new operator and a bot deployment whose world is Active. */
const anOperator = (clock: FakeClock, start: BotDeployment) => {
  let bots = start
  const runClock = createRunClock(clock)
  const deps = {
    bots: {
      cache: { store: { get: () => bots, byIndex: () => [bots] }, waitForVersion: async () => undefined },
      client: {
        resource: botDeploymentResource,
        applyStatus: async ({ status }: Pick<BotDeployment, 'status'>) => {
          bots = { ...bots, ...withDefined({ status }) }
          return bots
        },
      },
    },
    pods: {
      cache: { store: { byIndex: () => [], get: () => undefined }, waitForVersion: async () => undefined },
      client: { create: async () => ({ metadata: { name: 'made' } }), list: async () => ({ items: [] }) },
    },
    servers: { get: () => undefined },
    worlds: { cache: { store: { get: () => active() } } },
    namespaces: { cache: { store: { get: () => ({ metadata: { name: 'n' } }) } } },
    settings,
    runClock,
    acknowledgements: { waitMs: () => 0, forget: () => undefined },
    monotonic: clock.monotonic,
    tracing: noTracing,
    log: silentLog,
    events: { record: () => undefined },
  } as unknown as BotDeps
  return {
    look: () => reconcileBots(deps, objectKey(start.metadata), new AbortController().signal),
    bots: () => bots,
  }
}

const minutesLeft = (result: Awaited<ReturnType<typeof reconcileBots>>): number =>
  (result?.requeueAfterMs ?? Number.NaN) / minuteMs

test('ends bots on time despite jumps of the wall clock, which counts again after a restart', async () => {
  const clock = createFakeClock(startMs)
  const operator = anOperator(clock, someBots(2, { spec: { durationMinutes: 15 } }))
  await operator.look()
  expect(operator.bots().status?.startedAt).toBe('2026-01-01T12:00:00.000Z')
  clock.advance(4 * minuteMs)
  clock.jump(10 * minuteMs)
  clock.advance(2 * minuteMs)
  expect(minutesLeft(await operator.look())).toBe(9)
  clock.jump(-20 * minuteMs)
  expect(minutesLeft(await operator.look())).toBe(9)
  clock.jump(10 * minuteMs)
  expect(minutesLeft(await anOperator(clock, operator.bots()).look())).toBe(9)
  clock.advance(9 * minuteMs)
  await operator.look()
  expect(operator.bots().status?.run?.endReason).toBe('Expired')
})
