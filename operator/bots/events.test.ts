import { expect, test } from 'vitest'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { botEventsOf } from './events.ts'
import {
  aBot,
  active,
  at,
  aWorld,
  carriedOut,
  exited,
  planFor,
  ready,
  readyBots,
  runA,
  type Scene,
  settings,
  someBots,
  startMs,
} from './fixtures.ts'

/** Reconciles until nothing changes, and collects what the user is told, as `type reason: note`. */
const toldBy = (start: Scene): { scene: Scene; bots: BotDeployment; told: string[] } => {
  let scene = start
  const told: string[] = []
  for (let round = 0; round < 10; round += 1) {
    const planned = planFor(scene)
    told.push(...botEventsOf(scene.bots, planned.status).map(({ type, reason, note }) => `${type} ${reason}: ${note}`))
    const before = JSON.stringify(scene.bots.status)
    scene = carriedOut(scene, planned)
    if (planned.steps.length === 0 && before === JSON.stringify(planned.status))
      return { scene, bots: scene.bots, told }
  }
  throw new Error('the deployment did not settle in 10 rounds')
}

const started = toldBy({ bots: someBots(2) })
const running = toldBy({ ...started.scene, pods: readyBots(2) })

test('bots that wait for their world tell nothing, and their start is told once', () => {
  expect(toldBy({ bots: someBots(2), world: aWorld({ phase: 'Inactive' }) }).told).toEqual([])
  expect(started.told).toEqual([`Normal Started: 2 bots of the world's run ${runA} begin.`])
  expect(toldBy(started.scene).told).toEqual([])
})

test('bots that are all ready are told of, once', () => {
  expect(running.told).toEqual(['Normal Ready: 2 bots are ready.'])
  expect(toldBy(running.scene).told).toEqual([])
})

test('a bot that fails is told with why, and one that failed too often as a fault', () => {
  const failed = { ...running.scene, pods: [aBot(0, { status: exited(3) }), aBot(1, { status: ready })] }
  expect(toldBy(failed).told).toEqual([
    'Warning Restarted: Bot 0 failed: it ended with exit code 3 (Error). It is made again.',
  ])
  const often = [aBot(0, { status: exited(3), restarts: settings.restartBudget }), aBot(1, { status: ready })]
  expect(toldBy({ ...running.scene, pods: often }).told).toEqual([
    expect.stringMatching(/^Warning RestartBudget: 1 bot failed more often than 3 restarts allow; .*exit code 3/),
  ])
})

test('the end of all bots is told with its reason: expired, their world stopped, ended by themselves', () => {
  const short = { ...running.bots, spec: { ...running.bots.spec, durationMinutes: 1 } }
  expect(toldBy({ ...running.scene, bots: short, nowMs: startMs + 60_000 }).told).toEqual([
    'Normal Expired: The duration of the bots is over.',
  ])
  const world = aWorld({ phase: 'Stopped', runId: runA })
  expect(toldBy({ ...running.scene, world }).told).toEqual([
    "Normal WorldEnded: The world's run is over: the bots start with its next one.",
  ])
  const done = [aBot(0, { status: exited(0) }), aBot(1, { status: exited(0) })]
  expect(toldBy({ ...running.scene, pods: done }).told).toEqual(['Normal Completed: All bots ended by themselves.'])
})

test('bots that the world has no room for are told of once, as a limit', () => {
  const { scene, told } = toldBy({ bots: someBots(12), world: active() })
  expect(told.filter((each) => each.startsWith('Warning'))).toEqual([
    expect.stringMatching(/^Warning LimitExceeded: 10 of 12 bots may run/),
  ])
  expect(toldBy(scene).told).toEqual([])
})

test('a deletion is told once no bot is left', () => {
  const metadata = { ...running.bots.metadata, deletionTimestamp: at(startMs), finalizers: ['orrery.dev/api'] }
  expect(toldBy({ ...running.scene, bots: { ...running.bots, metadata } }).told).toEqual([
    'Normal Deleted: The deployment is deleted, and no bot of it is left.',
  ])
})
