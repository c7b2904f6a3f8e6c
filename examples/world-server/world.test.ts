import { createSocket } from 'node:dgram'
import { connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { afterEach, expect, test } from 'vitest'
import { readEnvironment } from './environment.ts'
import { type RunningWorld, startWorld } from './world.ts'

let world: RunningWorld | undefined
const sockets: Socket[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await world?.drain()
})

const aWorld = async (env: Record<string, string> = {}): Promise<RunningWorld> => {
  const given = { ORRERY_WORLD_ID: 'wld-1', ORRERY_RUN_ID: 'run-1', ORRERY_PORT: '0', ORRERY_HEALTH_PORT: '0', ...env }
  world = await startWorld(readEnvironment(given), () => undefined)
  return world
}

const aPlayer = (port: number) => {
  const socket = connect(port, '127.0.0.1')
  sockets.push(socket)
  const lines = createInterface(socket)[Symbol.asyncIterator]()
  const hears = async (): Promise<object> => JSON.parse((await lines.next()).value)
  return { socket, hears }
}

const readiness = async (of: RunningWorld) => {
  const answer = await fetch(`http://127.0.0.1:${of.healthPort}/readyz`)
  return { status: answer.status, body: await answer.json() }
}

test('a player receives the world, the run, its own address and its own messages', async () => {
  const { gamePort } = await aWorld({ ORRERY_MAP_NAME: 'hall' })
  const player = aPlayer(gamePort)
  const server = { worldId: 'wld-1', runId: 'run-1', mapName: 'hall' }
  expect(await player.hears()).toMatchObject({ event: 'welcome', ...server, client: '127.0.0.1' })
  player.socket.write('hello\n')
  expect(await player.hears()).toEqual({ event: 'echo', text: 'hello' })
})

test('readiness reports players and queue, and the first in the queue gets a free place', async () => {
  const running = await aWorld({ ORRERY_CAPACITY: '1' })
  const first = aPlayer(running.gamePort)
  await first.hears()
  const second = aPlayer(running.gamePort)
  expect(await second.hears()).toMatchObject({ event: 'queued', place: 1 })
  expect(await readiness(running)).toEqual({ status: 200, body: { active: 1, queued: 1 } })
  first.socket.destroy()
  expect(await second.hears()).toMatchObject({ event: 'welcome' })
})

test('answers a datagram on the same port', async () => {
  const { gamePort } = await aWorld()
  const socket = createSocket('udp4')
  const answer = new Promise<Buffer>((resolve) => socket.once('message', resolve))
  socket.send('?', gamePort, '127.0.0.1')
  expect(JSON.parse((await answer).toString())).toMatchObject({ event: 'hello', worldId: 'wld-1', client: '127.0.0.1' })
  socket.close()
})

test('a drain notifies the players, is not ready, and ends with the last of them', async () => {
  const running = await aWorld()
  const player = aPlayer(running.gamePort)
  await player.hears()
  const drained = running.drain()
  expect(await player.hears()).toMatchObject({ event: 'closing' })
  expect((await readiness(running)).status).toBe(503)
  player.socket.end()
  await drained
  world = undefined
})

test('a drain ends after its limit', async () => {
  const running = await aWorld({ ORRERY_DRAIN_MS: '50' })
  const player = aPlayer(running.gamePort)
  await player.hears()
  await running.drain()
  world = undefined
})

test('lists all errors of the environment at once', () => {
  expect(() => readEnvironment({ ORRERY_CAPACITY: 'many', ORRERY_PORT: '70000' })).toThrow(
    'ORRERY_WORLD_ID is missing; ORRERY_RUN_ID is missing; ORRERY_CAPACITY must be a whole number, 0 to 100000; ' +
      'ORRERY_PORT must be a whole number, 0 to 65535',
  )
})
