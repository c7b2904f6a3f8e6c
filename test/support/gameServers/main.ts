import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { startA2S } from './a2s.ts'
import type { Game } from './game.ts'
import { startMinecraft } from './minecraft.ts'

// A server that speaks the protocol of its first argument on ORRERY_PORT, from its start if the second one is `answering`. PUT to
// ORRERY_PORT_CONTROL sets fields of its game and returns it.
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(0))

const servers = { A2S: startA2S, MinecraftJava: startMinecraft }
const game: Game = {
  isAnswering: process.argv[3] === 'answering',
  players: 0,
  bots: 0,
  asked: 0,
  capacity: Number(process.env.ORRERY_CAPACITY),
  map: process.env.ORRERY_MAP_NAME ?? '',
  version: '1.2.3',
}
const start = servers[process.argv[2] as keyof typeof servers]
start(game, Number(process.env.ORRERY_PORT))
createServer(async (request, response) => {
  Object.assign(game, JSON.parse(await text(request)))
  response.end(JSON.stringify(game))
}).listen(Number(process.env.ORRERY_PORT_CONTROL))
