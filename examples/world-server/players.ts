import { createServer as createHttp } from 'node:http'
import { createServer as createTcp, type Server, type Socket } from 'node:net'
import { WebSocketServer } from 'ws'

/** A connected player. */
export type Player = {
  readonly address: string | undefined
  /** Sends a message as JSON. */
  say(message: object): void
  /** Ends the connection after the messages so far. */
  close(): void
}

/** The functions that a world has for its players. `leave` is called once for each player that entered. */
export type Reception = {
  readonly enter: (player: Player) => void
  readonly hear: (player: Player, text: string) => void
  readonly leave: (player: Player) => void
}

const maxTextBytes = 4_096
/** The time after which a connection without a byte is one of lines, since there the server speaks first. */
const silenceMs = 100
const startOfHttp = Buffer.from('GET ')
const goingAway = 1001
/** Proxies close WebSockets on which nothing is sent. */
const pingEveryMs = 30_000

/**
 * Creates a TCP server for two kinds of players: the text messages of WebSockets, and lines of text. `destroyAll` ends all connections,
 * also those that have no player yet.
 */
export const createGameServer = (reception: Reception): { server: Server; destroyAll: () => void } => {
  const sockets = new Set<Socket>()
  // It does not listen: it gets the connections that start like HTTP.
  const web = createHttp((_, response) => {
    response.writeHead(426, { connection: 'close', upgrade: 'websocket' }).end()
  })
  welcomeWebSockets(new WebSocketServer({ server: web, maxPayload: maxTextBytes }), reception)
  const server = createTcp((socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
    recognize(socket, (isHttp) => {
      if (isHttp) web.emit('connection', socket)
      else welcomeLines(socket, reception)
    })
  })
  return { server, destroyAll: () => sockets.forEach((socket) => void socket.destroy()) }
}

/** Calls back once, unless the connection ends before: true if its first bytes are those of an HTTP request. They stay to be read. */
const recognize = (socket: Socket, decide: (isHttp: boolean) => void): void => {
  const onSilence = (): void => {
    socket.off('data', onData)
    decide(false)
  }
  const onData = (data: Buffer): void => {
    stopWaiting()
    socket.pause()
    socket.unshift(data)
    decide(data.subarray(0, startOfHttp.length).equals(startOfHttp))
    socket.resume()
  }
  // A busy process may be late: bytes that have arrived are read before an immediate runs.
  let immediate: NodeJS.Immediate | undefined
  const timer = setTimeout(() => (immediate = setImmediate(onSilence)), silenceMs)
  const stopWaiting = (): void => {
    clearTimeout(timer)
    clearImmediate(immediate)
  }
  socket.once('data', onData)
  socket.once('close', stopWaiting)
}

const welcomeWebSockets = (server: WebSocketServer, { enter, hear, leave }: Reception): void => {
  server.on('connection', (webSocket, { socket }) => {
    const player: Player = {
      address: socket.remoteAddress,
      say: (message) => webSocket.send(JSON.stringify(message)),
      close: () => webSocket.close(goingAway),
    }
    const pinging = setInterval(() => webSocket.ping(), pingEveryMs)
    webSocket.on('error', () => webSocket.terminate())
    webSocket.on('close', () => {
      clearInterval(pinging)
      leave(player)
    })
    webSocket.on('message', (data) => hear(player, String(data)))
    enter(player)
  })
}

const welcomeLines = (socket: Socket, { enter, hear, leave }: Reception): void => {
  const player: Player = {
    address: socket.remoteAddress,
    say: (message) => void socket.write(`${JSON.stringify(message)}\n`),
    close: () => void socket.end(),
  }
  socket.on('close', () => leave(player))
  onLines(socket, (line) => hear(player, line))
  enter(player)
}

/** Calls back for each line; a line that is too long ends the connection. */
const onLines = (socket: Socket, onLine: (line: string) => void): void => {
  let rest = ''
  socket.setEncoding('utf8')
  socket.on('data', (chunk) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > maxTextBytes) return void socket.destroy()
    for (const line of lines) onLine(line.trimEnd())
  })
}
