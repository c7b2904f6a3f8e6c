import type { ServerQuery } from '#shared/domain/query.ts'
import { beginA2S } from './a2s.ts'
import type { BeginExchange } from './exchange.ts'
import { beginMinecraftBedrock } from './minecraftBedrock.ts'
import { beginMinecraftJava } from './minecraftJava.ts'
import { beginSqp } from './sqp.ts'

/** The query protocols that are exchanges of packets: all but Http. */
export const exchanges: Record<Exclude<ServerQuery['protocol'], 'Http'>, BeginExchange> = {
  A2S: beginA2S,
  MinecraftBedrock: beginMinecraftBedrock,
  MinecraftJava: beginMinecraftJava,
  SQP: beginSqp,
}
