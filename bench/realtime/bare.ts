import { createServer } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { textFrame, updateText } from '#api/realtime/protocol.ts'
import { listen } from '#shared/operations.ts'

// The baseline of `npm run bench:realtime`: a minimal server that sends every update to every client as a message of
// its own, without database, subscriptions, permissions or limits. `POST /?from=1&count=64` sends 64 updates.
// `POST /feed/?n=1&gatherMs=20` takes a change of a world. Changes of that time are one message, encoded once, which is the
// least that a feed has to send.
const sockets = new Map<WebSocket, Duplex>()
const wss = new WebSocketServer({ noServer: true, perMessageDeflate: false })
const server = createServer(async (request, response) => {
  const asked = new URL(request.url ?? '', 'http://bare').searchParams
  response.end()
  if (request.url?.startsWith('/feed/')) {
    gather(Number(asked.get('n')), Number(asked.get('gatherMs')))
    return
  }
  const from = Number(asked.get('from'))
  for (let n = from; n < from + Number(asked.get('count')); n += 1) {
    const update = {
      userId: 'bench',
      resource: { type: 'liveConfig', id: 'doc-0' },
      data: { id: 'd', config: { n, text: asked.get('text') } },
      version: new Date().toISOString(),
    }
    for (const ws of sockets.keys()) ws.send(JSON.stringify(update))
    await new Promise((resolve) => setImmediate(resolve))
  }
})
const worldId = `wld-${'0'.repeat(26)}`
const projectId = `prj-${'0'.repeat(26)}`
const status = { phase: 'Inactive', message: '', conditions: [] }
let gathered: unknown[] = []
/** Sends a change to every client, in one message with all changes of the next `gatherMs`. */
const gather = (n: number, gatherMs: number): void => {
  gathered.push({ worldId, projectId, version: new Date().toISOString(), name: `n-${n}`, status })
  if (gathered.length > 1) return
  setTimeout(() => {
    const data = JSON.stringify({ worlds: gathered })
    gathered = []
    const frame = textFrame(updateText({ type: 'worlds', id: projectId }, { userId: '', data, versionMs: Date.now() }))
    for (const socket of sockets.values()) socket.write(frame)
  }, gatherMs)
}
server.on('upgrade', (request, socket, head) => {
  wss.handleUpgrade(request, socket, head, (ws) => {
    sockets.set(ws, socket)
    ws.on('error', () => undefined)
    ws.on('close', () => sockets.delete(ws))
  })
})
await listen(server, Number(process.env.BENCH_PORT))
process.once('SIGTERM', () => process.exit(0))
