import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { BotEnvironment } from './environment.ts'

/** A running bot. */
export type RunningBot = {
  readonly healthPort: number
  /** Resolves with why the bot gave up, should it. */
  readonly gaveUp: Promise<string>
  /** Leaves the world and closes everything. */
  leave(): Promise<void>
}

const firstRetryMs = 200
const longestRetryMs = 5_000
const connectMs = 5_000
const maxLineBytes = 4_096

/**
 * A bot that enters its world over the game port and says something now and then. It is ready while it is inside. A
 * connection that breaks is made again, since a world outlives its server; a world that stays away is given up.
 */
export const startBot = async (env: BotEnvironment, log: (fields: object) => void): Promise<RunningBot> => {
  const { promise: gaveUp, resolve: giveUp } = Promise.withResolvers<string>()
  let socket: Socket | undefined
  let inside = false
  let leaving = false
  let retryMs = firstRetryMs
  let outsideSinceMs = performance.now()
  let timer: NodeJS.Timeout | undefined

  const entered = (): void => {
    if (!inside) log({ level: 'info', message: 'inside', index: env.index })
    inside = true
    retryMs = firstRetryMs
  }
  const left = (why: string): void => {
    if (inside) outsideSinceMs = performance.now()
    inside = false
    if (leaving) return
    const outsideMs = performance.now() - outsideSinceMs
    if (outsideMs >= env.giveUpMs) {
      giveUp(`the world was out of reach for ${env.giveUpMs} ms: ${why}`)
      return
    }
    log({ level: 'info', message: 'outside', why, retryMs })
    timer = setTimeout(enter, Math.min(retryMs, env.giveUpMs - outsideMs))
    retryMs = Math.min(retryMs * 2, longestRetryMs)
  }
  const enter = (): void => {
    const mine = connect({ host: env.worldHost, port: env.worldPort, timeout: connectMs })
    socket = mine
    let why = 'the world closed the connection'
    mine.once('connect', () => mine.setTimeout(0))
    mine.once('timeout', () => mine.destroy(new Error('no connection in time')))
    mine.on('error', (error) => (why = error.message))
    mine.once('close', () => left(why))
    onLines(mine, (line) => {
      const event = eventOf(line)
      if (event === 'welcome') entered()
      // The server waits for its players to leave before it ends.
      if (event === 'closing') mine.end()
    })
  }
  const talking = setInterval(() => {
    if (inside) socket?.write(`hello from bot ${env.index} of ${env.count}\n`)
  }, env.talkMs)

  const health = createServer((request, response) => {
    const ready = request.url?.startsWith('/readyz') ?? false
    const known = ready || request.url?.startsWith('/healthz')
    response.writeHead(known ? (ready && !inside ? 503 : 200) : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ inside }))
  })
  await new Promise<void>((resolve, reject) => {
    health.once('error', reject)
    health.listen(env.healthPort, resolve)
  })
  enter()
  return {
    healthPort: (health.address() as AddressInfo).port,
    gaveUp,
    leave: async () => {
      leaving = true
      clearInterval(talking)
      clearTimeout(timer)
      const closed = new Promise<void>((resolve) => {
        if (socket === undefined || socket.closed) return resolve()
        socket.once('close', () => resolve())
      })
      socket?.destroy()
      await closed
      health.closeAllConnections()
      health.close()
    },
  }
}

/** Calls back for each line; a line that is too long ends the connection. */
const onLines = (socket: Socket, onLine: (line: string) => void): void => {
  let rest = ''
  socket.setEncoding('utf8')
  socket.on('data', (chunk) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > maxLineBytes) socket.destroy()
    for (const line of lines) onLine(line)
  })
}

/** Parses a message of the world. Returns undefined for a line that is not part of the protocol. */
const eventOf = (line: string): unknown => {
  try {
    const said: unknown = JSON.parse(line)
    return typeof said === 'object' && said !== null && 'event' in said ? said.event : undefined
  } catch {
    return undefined
  }
}
