import { createSocket } from 'node:dgram'
import { createServer as createHttp } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ServerEnvironment } from './environment.ts'
import { createGameServer, type Player } from './players.ts'

/** A running world: its ports (as they really are), and its end. */
export type RunningWorld = {
  readonly gamePort: number
  readonly healthPort: number
  /** Says goodbye, waits for players to leave, and closes everything. */
  drain(): Promise<void>
}

const farewellMs = 1_000

/**
 * A world in which players can say something and hear it back: enough to see that a world runs, where, and for how
 * many. The game port speaks JSON over TCP, in lines and in messages of WebSockets, and answers any datagram over UDP with the same
 * greeting.
 */
export const startWorld = async (env: ServerEnvironment, log: (fields: object) => void): Promise<RunningWorld> => {
  const players = new Set<Player>()
  const waiting = new Set<Player>()
  let phase: 'starting' | 'serving' | 'draining' = 'starting'
  const about = () => ({
    worldId: env.worldId,
    runId: env.runId,
    mapName: env.mapName,
    capacity: env.capacity,
    players: players.size,
  })
  /** The address shows a player whether the network in between keeps it. A socket of both IP versions prefixes IPv4. */
  const greeting = (address = '') => ({ ...about(), client: address.replace(/^::ffff:/, '') })
  const admit = (player: Player): void => {
    players.add(player)
    player.say({ event: 'welcome', ...greeting(player.address) })
  }
  const enter = (player: Player): void => {
    if (phase === 'draining') return void player.close()
    if (players.size < env.capacity) return void admit(player)
    waiting.add(player)
    player.say({ event: 'queued', place: waiting.size, capacity: env.capacity })
  }
  const hear = (player: Player, text: string): void => {
    if (players.has(player)) player.say({ event: 'echo', text })
  }
  const leave = (player: Player): void => {
    waiting.delete(player)
    if (!players.delete(player)) return
    const [next] = waiting
    if (next === undefined || phase === 'draining') return
    waiting.delete(next)
    admit(next)
  }

  const { server: game, destroyAll } = createGameServer({ enter, hear, leave })
  const datagrams = createSocket('udp4')
  datagrams.on('message', (_, from) => {
    datagrams.send(JSON.stringify({ event: 'hello', ...greeting(from.address) }), from.port, from.address)
  })
  datagrams.on('error', (error) => log({ level: 'error', message: error.message }))
  const health = createHttp((request, response) => {
    const ready = request.url?.startsWith('/readyz') ?? false
    const known = ready || request.url?.startsWith('/healthz')
    response.writeHead(known ? (ready && phase !== 'serving' ? 503 : 200) : 404, { 'content-type': 'application/json' })
    response.end(ready ? JSON.stringify({ active: players.size, queued: waiting.size }) : '{}')
  })

  await listening((done) => health.listen(env.healthPort, done), health)
  await listening((done) => game.listen(env.gamePort, done), game)
  const { port: gamePort } = game.address() as AddressInfo
  await listening((done) => datagrams.bind(gamePort, done), datagrams)
  phase = 'serving'
  log({ level: 'info', message: 'ready', gamePort, ...about() })

  return {
    gamePort,
    healthPort: (health.address() as AddressInfo).port,
    drain: async () => {
      phase = 'draining'
      const closed = new Promise((resolve) => game.close(resolve))
      const each = [...players, ...waiting]
      for (const player of each) player.say({ event: 'closing', inMs: env.drainMs })
      const timers = [
        setTimeout(() => each.forEach((player) => void player.close()), env.drainMs),
        setTimeout(destroyAll, env.drainMs + farewellMs),
      ]
      await closed
      timers.forEach(clearTimeout)
      datagrams.close()
      health.closeAllConnections()
      health.close()
    },
  }
}

const listening = (start: (done: () => void) => unknown, server: NodeJS.EventEmitter): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    start(() => {
      server.off('error', reject)
      resolve()
    })
  })
