import { createSocket } from 'node:dgram'
import { on, once } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { readEnvironment } from './environment.ts'
import { type RunningWorld, startWorld } from './world.ts'

let world: RunningWorld | undefined
const connections: { leave: () => void }[] = []
afterEach(async () => {
  for (const connection of connections.splice(0)) connection.leave()
  await world?.drain()
})

const aWorld = async (env: Record<string, string> = {}): Promise<RunningWorld> => {
  const given = { ORRERY_WORLD_ID: 'wld-1', ORRERY_RUN_ID: 'run-1', ORRERY_PORT: '0', ORRERY_HEALTH_PORT: '0', ...env }
  world = await startWorld(readEnvironment(given), () => undefined)
  return world
}

type Heard = { readonly value?: string | Buffer }

const withLines = (port: number) => {
  const socket = connect(port, '127.0.0.1')
  const lines = createInterface(socket)[Symbol.asyncIterator]()
  return {
    next: (): Promise<Heard> => lines.next(),
    says: (text: string) => void socket.write(`${text}\n`),
    leave: () => void socket.destroy(),
  }
}
const withWebSocket = (port: number) => {
  const webSocket = new WebSocket(`ws://127.0.0.1:${port}`, { origin: 'https://game.example' })
  const messages = on(webSocket, 'message', { close: ['close'] })
  return {
    next: async (): Promise<Heard> => ({ value: (await messages.next()).value[0] }),
    says: (text: string) => webSocket.send(text),
    leave: () => webSocket.close(),
  }
}
const kinds = [
  ['lines', withLines],
  ['a WebSocket', withWebSocket],
] as const

const aPlayer = (port: number, kind: (typeof kinds)[number][1] = withLines) => {
  const { next, says, leave } = kind(port)
  connections.push({ leave })
  return { says, leave, hears: async (): Promise<object> => JSON.parse(String((await next()).value)) }
}

const readiness = async (of: RunningWorld) => {
  const answer = await fetch(`http://127.0.0.1:${of.healthPort}/readyz`)
  return { status: answer.status, body: await answer.json() }
}

test.each(kinds)(
  'a player with %s receives the world, the run, its own address and its own messages',
  async (_, kind) => {
    const { gamePort } = await aWorld({ ORRERY_MAP_NAME: 'hall' })
    const player = aPlayer(gamePort, kind)
    const server = { worldId: 'wld-1', runId: 'run-1', mapName: 'hall' }
    expect(await player.hears()).toMatchObject({ event: 'welcome', ...server, client: '127.0.0.1' })
    player.says('hello')
    expect(await player.hears()).toEqual({ event: 'echo', text: 'hello' })
  },
)

test.each([
  ['lines', 'a WebSocket', withLines, withWebSocket],
  ['a WebSocket', 'lines', withWebSocket, withLines],
] as const)(
  'readiness reports players with %s and a queue with %s, whose first gets a free place',
  async (_a, _b, kind, other) => {
    const running = await aWorld({ ORRERY_CAPACITY: '1' })
    const first = aPlayer(running.gamePort, kind)
    await first.hears()
    const second = aPlayer(running.gamePort, other)
    expect(await second.hears()).toMatchObject({ event: 'queued', place: 1 })
    expect(await readiness(running)).toEqual({ status: 200, body: { active: 1, queued: 1 } })
    first.leave()
    expect(await second.hears()).toMatchObject({ event: 'welcome' })
  },
)

test('a player with a WebSocket gets a ping every 30 s', async () => {
  vi.useFakeTimers({ toFake: ['setInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const { gamePort } = await aWorld()
  const webSocket = new WebSocket(`ws://127.0.0.1:${gamePort}`)
  connections.push({ leave: () => webSocket.close() })
  await once(webSocket, 'message')
  vi.advanceTimersByTime(30_000)
  await once(webSocket, 'ping')
})

test('answers an HTTP request that does not ask for a WebSocket with 426', async () => {
  const { gamePort } = await aWorld()
  expect((await fetch(`http://127.0.0.1:${gamePort}/`)).status).toBe(426)
})

test('answers a datagram on the same port', async () => {
  const { gamePort } = await aWorld()
  const socket = createSocket('udp4')
  const answer = new Promise<Buffer>((resolve) => socket.once('message', resolve))
  socket.send('?', gamePort, '127.0.0.1')
  expect(JSON.parse((await answer).toString())).toMatchObject({ event: 'hello', worldId: 'wld-1', client: '127.0.0.1' })
  socket.close()
})

test.each(kinds)('a drain notifies players with %s, is not ready, and ends with the last of them', async (_, kind) => {
  const running = await aWorld()
  const player = aPlayer(running.gamePort, kind)
  await player.hears()
  const drained = running.drain()
  expect(await player.hears()).toMatchObject({ event: 'closing' })
  expect((await readiness(running)).status).toBe(503)
  player.leave()
  await drained
  world = undefined
})

test('a drain ends after its limit, also with a connection that has no player yet', async () => {
  const running = await aWorld({ ORRERY_DRAIN_MS: '50' })
  for (const [, kind] of kinds) await aPlayer(running.gamePort, kind).hears()
  const socket = connect(running.gamePort, '127.0.0.1')
  connections.push({ leave: () => socket.destroy() })
  await new Promise<void>((sent) => socket.write('GET / HTTP/1.1\r\n', () => sent()))
  await running.drain()
  world = undefined
})

test('lists all errors of the environment at once', () => {
  expect(() => readEnvironment({ ORRERY_CAPACITY: 'many', ORRERY_PORT: '70000' })).toThrow(
    'ORRERY_WORLD_ID is missing; ORRERY_RUN_ID is missing; ORRERY_CAPACITY must be a whole number, 0 to 100000; ' +
      'ORRERY_PORT must be a whole number, 0 to 65535',
  )
})
