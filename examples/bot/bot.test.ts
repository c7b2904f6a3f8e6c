import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, expect, test } from 'vitest'
import { eventually } from '#test/support/wait.ts'
import { readEnvironment as readServerEnvironment } from '../world-server/environment.ts'
import { type RunningWorld, startWorld } from '../world-server/world.ts'
import { type RunningBot, startBot } from './bot.ts'
import { readEnvironment } from './environment.ts'

let ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
  ends = []
})

const aWorld = async (env: Record<string, string> = {}): Promise<RunningWorld> => {
  const given = { ORRERY_WORLD_ID: 'wld-1', ORRERY_RUN_ID: 'run-1', ORRERY_PORT: '0', ORRERY_HEALTH_PORT: '0', ...env }
  const world = await startWorld(readServerEnvironment(given), () => undefined)
  ends.push(world.drain)
  return world
}
const environment = (port: number, more: Record<string, string> = {}) => ({
  ...{
    ORRERY_WORLD_ADDRESS: `127.0.0.1:${port}`,
    ORRERY_BOT_INDEX: '3',
    ORRERY_BOT_COUNT: '5',
    ORRERY_HEALTH_PORT: '0',
  },
  ...more,
})
const aBot = async (port: number, more: Record<string, string> = {}): Promise<RunningBot> => {
  const bot = await startBot(readEnvironment(environment(port, more)), () => undefined)
  ends.unshift(bot.leave)
  return bot
}
const status = async (port: number, path = '/readyz') => (await fetch(`http://127.0.0.1:${port}${path}`)).status
const players = async ({ healthPort }: RunningWorld) =>
  (await (await fetch(`http://127.0.0.1:${healthPort}/readyz`)).json()) as { active: number; queued: number }

test('a bot enters its world, is ready while inside, and leaves on stop', async () => {
  const world = await aWorld()
  const bot = await aBot(world.gamePort)
  await eventually('ready', async () => (await status(bot.healthPort)) === 200)
  expect(await players(world)).toEqual({ active: 1, queued: 0 })
  await bot.leave()
  await eventually('nobody', async () => (await players(world)).active === 0)
})

test('a bot in the queue is alive and not ready', async () => {
  const world = await aWorld({ ORRERY_CAPACITY: '0' })
  const bot = await aBot(world.gamePort)
  await eventually('queued', async () => (await players(world)).queued === 1)
  expect([await status(bot.healthPort), await status(bot.healthPort, '/healthz')]).toEqual([503, 200])
})

test('a bot leaves a closing world at once and enters the next one on that port', async () => {
  const world = await aWorld()
  const bot = await aBot(world.gamePort)
  await eventually('ready', async () => (await status(bot.healthPort)) === 200)
  await world.drain()
  ends.pop()
  await eventually('not ready', async () => (await status(bot.healthPort)) === 503)
  await aWorld({ ORRERY_PORT: String(world.gamePort) })
  await eventually('ready again', async () => (await status(bot.healthPort)) === 200)
})

test('exits with 0 on SIGTERM, and with 1 if its world stays away', async () => {
  const world = await aWorld()
  const run = (port: number, more: Record<string, string> = {}) =>
    spawn(process.execPath, ['examples/bot/main.ts'], {
      env: { ...process.env, ...environment(port, more) },
      stdio: 'ignore',
    })
  const staying = run(world.gamePort)
  await eventually('a player', async () => (await players(world)).active === 1)
  staying.kill('SIGTERM')
  expect(await once(staying, 'exit')).toEqual([0, null])
  expect(await once(run(1, { ORRERY_BOT_GIVE_UP_MS: '100' }), 'exit')).toEqual([1, null])
}, 60_000)

test('lists all errors of the environment at once, and accepts an IPv6 address in brackets', () => {
  expect(() => readEnvironment({ ORRERY_WORLD_ADDRESS: 'nowhere', ORRERY_BOT_INDEX: 'x' })).toThrow(
    'ORRERY_WORLD_ADDRESS must be host:port; ORRERY_BOT_INDEX must be a whole number, 0 to 100000',
  )
  expect(readEnvironment({ ORRERY_WORLD_ADDRESS: '[fd00::7]:7777' })).toMatchObject({
    worldHost: 'fd00::7',
    worldPort: 7777,
  })
})
