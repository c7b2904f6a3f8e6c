import { expect, test } from 'vitest'
import { at, exitStatus, runA, startMs } from '#operator/testing/fixtures.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { botEvents } from './events.ts'
import {
  aBot,
  active,
  aWorld,
  executePlan,
  planFor,
  ready,
  readyBots,
  type Scene,
  settings,
  someBots,
} from './fixtures.ts'

/** Reconciles until nothing changes, and collects the events as `type reason: note`. */
const eventsBy = (start: Scene): { scene: Scene; bots: BotDeployment; events: string[] } => {
  let scene = start
  const events: string[] = []
  for (let round = 0; round < 10; round += 1) {
    const planned = planFor(scene)
    events.push(...botEvents(scene.bots, planned.status).map(({ type, reason, note }) => `${type} ${reason}: ${note}`))
    const before = JSON.stringify(scene.bots.status)
    scene = executePlan(scene, planned)
    if (planned.steps.length === 0 && before === JSON.stringify(planned.status))
      return { scene, bots: scene.bots, events }
  }
  throw new Error('the deployment did not settle in 10 rounds')
}

const started = eventsBy({ bots: someBots(2) })
const running = eventsBy({ ...started.scene, pods: readyBots(2) })

test('a start is one event, and waiting for the world is none', () => {
  expect(eventsBy({ bots: someBots(2), world: aWorld({ phase: 'Inactive' }) }).events).toEqual([])
  expect(started.events).toEqual([`Normal Started: Starting 2 bots in run ${runA} of the world.`])
  expect(eventsBy(started.scene).events).toEqual([])
})

test('ready bots are one event', () => {
  expect(running.events).toEqual(['Normal Ready: 2 bots are ready.'])
  expect(eventsBy(running.scene).events).toEqual([])
})

test('a failure is an event with its cause, and so is the end of the budget', () => {
  const failed = { ...running.scene, pods: [aBot(0, { status: exitStatus(3) }), aBot(1, { status: ready })] }
  expect(eventsBy(failed).events).toEqual(['Warning Restarted: Bot 0: exit code 3. The bot restarts.'])
  const often = [aBot(0, { status: exitStatus(3), restarts: settings.restartBudget }), aBot(1, { status: ready })]
  expect(eventsBy({ ...running.scene, pods: often }).events).toEqual([
    'Warning RestartBudget: 1 bot failed after 3 restarts; last error: bot 0: exit code 3.',
  ])
})

test('the end of all bots is an event with its reason', () => {
  const short = { ...running.bots, spec: { ...running.bots.spec, durationMinutes: 1 } }
  expect(eventsBy({ ...running.scene, bots: short, nowMs: startMs + 60_000 }).events).toEqual([
    'Normal Expired: The duration of the bots is over.',
  ])
  const world = aWorld({ phase: 'Stopped', runId: runA })
  expect(eventsBy({ ...running.scene, world }).events).toEqual([
    "Normal WorldEnded: The world's run is over. The bots start with its next run.",
  ])
  const done = [aBot(0, { status: exitStatus(0) }), aBot(1, { status: exitStatus(0) })]
  expect(eventsBy({ ...running.scene, pods: done }).events).toEqual([
    'Normal Completed: All bots ended with exit code 0.',
  ])
})

test('an exceeded limit is one event', () => {
  const { scene, events } = eventsBy({ bots: someBots(12), world: active() })
  expect(events.filter((each) => each.startsWith('Warning'))).toEqual([
    expect.stringMatching(/^Warning LimitExceeded: 10 of 12 bots may run/),
  ])
  expect(eventsBy(scene).events).toEqual([])
})

test('a deletion is an event once no bot is left', () => {
  const metadata = { ...running.bots.metadata, deletionTimestamp: at(startMs), finalizers: ['orrery.dev/api'] }
  expect(eventsBy({ ...running.scene, bots: { ...running.bots, metadata } }).events).toEqual([
    'Normal Deleted: The deployment is deleted. No bot is left.',
  ])
})
