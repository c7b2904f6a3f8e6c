import { createSocket } from 'node:dgram'
import { createServer as createHttp } from 'node:http'
import { type AddressInfo, createServer as createTcp, type Socket } from 'node:net'
import type { ServerEnvironment } from './environment.ts'

/** A running world: its ports (as they really are), and its end. */
export type RunningWorld = {
  readonly gamePort: number
  readonly healthPort: number
  /** Says goodbye, waits for players to leave, and closes everything. */
  drain(): Promise<void>
}

const maxLineBytes = 4_096
const farewellMs = 1_000

/**
 * A world in which players can say something and hear it back: enough to see that a world runs, where, and for how
 * many. The game port speaks lines of JSON over TCP and answers any datagram over UDP with the same greeting.
 */
export const startWorld = async (env: ServerEnvironment, log: (fields: object) => void): Promise<RunningWorld> => {
  const players = new Set<Socket>()
  const waiting = new Set<Socket>()
  let serving = false
  const about = () => ({
    worldId: env.worldId,
    runId: env.runId,
    mapName: env.mapName,
    capacity: env.capacity,
    players: players.size,
  })
  /** The address shows a player whether the network in between keeps it. A socket of both IP versions prefixes IPv4. */
  const greeting = (address = '') => ({ ...about(), client: address.replace(/^::ffff:/, '') })
  const say = (socket: Socket, message: object): void => void socket.write(`${JSON.stringify(message)}\n`)
  const enter = (socket: Socket): void => {
    players.add(socket)
    say(socket, { event: 'welcome', ...greeting(socket.remoteAddress) })
  }
  const leave = (socket: Socket): void => {
    waiting.delete(socket)
    if (!players.delete(socket)) return
    const [next] = waiting
    if (next === undefined || !serving) return
    waiting.delete(next)
    enter(next)
  }

  const game = createTcp((socket) => {
    socket.on('error', () => socket.destroy())
    socket.on('close', () => leave(socket))
    onLines(socket, (line) => {
      if (players.has(socket)) say(socket, { event: 'echo', text: line })
    })
    if (players.size < env.capacity) return enter(socket)
    waiting.add(socket)
    say(socket, { event: 'queued', place: waiting.size, capacity: env.capacity })
  })
  const datagrams = createSocket('udp4')
  datagrams.on('message', (_, from) => {
    datagrams.send(JSON.stringify({ event: 'hello', ...greeting(from.address) }), from.port, from.address)
  })
  datagrams.on('error', (error) => log({ level: 'error', message: error.message }))
  const health = createHttp((request, response) => {
    const ready = request.url?.startsWith('/readyz') ?? false
    const known = ready || request.url?.startsWith('/healthz')
    response.writeHead(known ? (ready && !serving ? 503 : 200) : 404, { 'content-type': 'application/json' })
    response.end(ready ? JSON.stringify({ active: players.size, queued: waiting.size }) : '{}')
  })

  await listening((done) => health.listen(env.healthPort, done), health)
  await listening((done) => game.listen(env.gamePort, done), game)
  const { port: gamePort } = game.address() as AddressInfo
  await listening((done) => datagrams.bind(gamePort, done), datagrams)
  serving = true
  log({ level: 'info', message: 'ready', gamePort, ...about() })

  return {
    gamePort,
    healthPort: (health.address() as AddressInfo).port,
    drain: async () => {
      serving = false
      const closed = new Promise((resolve) => game.close(resolve))
      for (const socket of [...players, ...waiting]) say(socket, { event: 'closing', inMs: env.drainMs })
      const timers = [
        setTimeout(() => [...players, ...waiting].forEach((socket) => void socket.end()), env.drainMs),
        setTimeout(() => [...players, ...waiting].forEach((socket) => void socket.destroy()), env.drainMs + farewellMs),
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

/** Calls back for each line; a line that is too long ends the connection. */
const onLines = (socket: Socket, onLine: (line: string) => void): void => {
  let rest = ''
  socket.setEncoding('utf8')
  socket.on('data', (chunk) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > maxLineBytes) return void socket.destroy()
    for (const line of lines) onLine(line.trimEnd())
  })
}
