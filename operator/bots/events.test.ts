import { expect, test } from 'vitest'
import {
  aBot,
  active,
  aWorld,
  executePlan,
  planFor,
  ready,
  readyBots,
  settings,
  someBots,
  type TestInput,
} from '#operator/testing/bots.ts'
import { at, exitStatus, runA, startMs } from '#operator/testing/common.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { botEvents } from './events.ts'

/** Reconciles until nothing changes, and collects the events as `type reason: note`. */
const eventsBy = (start: TestInput): { input: TestInput; bots: BotDeployment; events: string[] } => {
  let input = start
  const events: string[] = []
  for (let round = 0; round < 10; round += 1) {
    const planned = planFor(input)
    events.push(...botEvents(input.bots, planned.status).map(({ type, reason, note }) => `${type} ${reason}: ${note}`))
    const before = JSON.stringify(input.bots.status)
    input = executePlan(input, planned)
    if (planned.steps.length === 0 && before === JSON.stringify(planned.status))
      return { input, bots: input.bots, events }
  }
  throw new Error('the bot deployment did not settle in 10 rounds')
}

const started = eventsBy({ bots: someBots(2) })
const running = eventsBy({ ...started.input, pods: readyBots(2) })

test('emits one event for a start and none while the bots wait for the world', () => {
  expect(eventsBy({ bots: someBots(2), world: aWorld({ phase: 'Inactive' }) }).events).toEqual([])
  expect(started.events).toEqual([`Normal Started: Starting 2 bots in run ${runA} of the world.`])
  expect(eventsBy(started.input).events).toEqual([])
})

test('emits one event for ready bots', () => {
  expect(running.events).toEqual(['Normal Ready: 2 bots are ready.'])
  expect(eventsBy(running.input).events).toEqual([])
})

test('emits an event with the cause for each failure and for the end of the budget', () => {
  const failed = { ...running.input, pods: [aBot(0, { status: exitStatus(3) }), aBot(1, { status: ready })] }
  expect(eventsBy(failed).events).toEqual([
    'Warning Restarted: Bot 0: the bot failed with exit code 3. The bot will be restarted.',
  ])
  const often = [aBot(0, { status: exitStatus(3), restarts: settings.restartBudget }), aBot(1, { status: ready })]
  expect(eventsBy({ ...running.input, pods: often }).events).toEqual([
    'Warning RestartBudget: 1 bot failed after 3 restarts; last error: bot 0: the bot failed with exit code 3.',
  ])
})

test('emits an event with the reason when all bots end', () => {
  const short = { ...running.bots, spec: { ...running.bots.spec, durationMinutes: 1 } }
  expect(eventsBy({ ...running.input, bots: short, nowMs: startMs + 60_000 }).events).toEqual([
    'Normal Expired: The duration of the bots is over.',
  ])
  const world = aWorld({ phase: 'Stopped', runId: runA })
  expect(eventsBy({ ...running.input, world }).events).toEqual([
    "Normal WorldEnded: The world's run is over. The bots start with its next run.",
  ])
  const done = [aBot(0, { status: exitStatus(0) }), aBot(1, { status: exitStatus(0) })]
  expect(eventsBy({ ...running.input, pods: done }).events).toEqual([
    'Normal Completed: All bots ended with exit code 0.',
  ])
})

test('emits one event for an exceeded limit', () => {
  const { input, events } = eventsBy({ bots: someBots(12), world: active() })
  expect(events.filter((each) => each.startsWith('Warning'))).toEqual([
    expect.stringMatching(/^Warning LimitExceeded: 10 of 12 bots may run/),
  ])
  expect(eventsBy(input).events).toEqual([])
})

test('emits an event for a deletion once no bot is left', () => {
  const metadata = { ...running.bots.metadata, deletionTimestamp: at(startMs), finalizers: ['orrery.dev/api'] }
  expect(eventsBy({ ...running.input, bots: { ...running.bots, metadata } }).events).toEqual([
    'Normal Deleted: The bot deployment is deleted. No bot is left.',
  ])
})
