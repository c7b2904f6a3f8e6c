import { createServer } from 'node:http'
import { type WebSocket, WebSocketServer } from 'ws'
import { listen } from '#shared/operations.ts'

// The baseline of `npm run bench:realtime`: a minimal server that sends every update to every client as a message of
// its own, without database, subscriptions, permissions or limits. `POST /?from=1&count=64` sends 64 updates.
const sockets = new Set<WebSocket>()
const wss = new WebSocketServer({ noServer: true, perMessageDeflate: false })
const server = createServer(async (request, response) => {
  const asked = new URL(request.url ?? '', 'http://bare').searchParams
  response.end()
  const from = Number(asked.get('from'))
  for (let n = from; n < from + Number(asked.get('count')); n += 1) {
    const update = {
      userId: 'bench',
      resource: { type: 'liveConfig', id: 'doc-0' },
      data: { id: 'd', config: { n, text: asked.get('text') } },
      version: new Date().toISOString(),
    }
    for (const ws of sockets) ws.send(JSON.stringify(update))
    await new Promise((resolve) => setImmediate(resolve))
  }
})
server.on('upgrade', (request, socket, head) => {
  wss.handleUpgrade(request, socket, head, (ws) => {
    sockets.add(ws)
    ws.on('error', () => undefined)
    ws.on('close', () => sockets.delete(ws))
  })
})
await listen(server, Number(process.env.BENCH_PORT))
process.once('SIGTERM', () => process.exit(0))
