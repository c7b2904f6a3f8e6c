import { isIP } from 'node:net'
import { type ServerQuery, transportOf } from '#shared/domain/query.ts'
import { callPeer } from '#shared/peers.ts'
import type { ServerAnswer } from '../query/answer.ts'
import { readHttpAnswer } from '../query/http.ts'
import { toFault } from '../query/packets.ts'
import { exchanges } from '../query/protocols.ts'
import type { Address } from './query/converse.ts'
import { askOverTcp } from './query/tcp.ts'
import { askOverUdp } from './query/udp.ts'

/** The server to ask, and how. */
export type AskedServer = Address & { readonly protocol: ServerQuery['protocol'] }

/** Asks a server for its players. Resolves to undefined without an answer. Never rejects. */
export type AskServer = (server: AskedServer, signal: AbortSignal) => Promise<ServerAnswer | undefined>

/** Asks a server once, on a new socket. Asks IP addresses only, so that no name is looked up. */
export const askServer: AskServer = async (server, signal) => {
  const { protocol, host, port } = server
  if (isIP(host) === 0) return undefined
  if (protocol === 'Http') return askOverHttp(server, signal)
  const exchange = exchanges[protocol]({ host, port, random: Math.random })
  const ask = transportOf(server) === 'UDP' ? askOverUdp : askOverTcp
  return ask({ host, port }, exchange, signal)
}

/** The maximum number of bytes of an answer over HTTP: a server is a tenant's program and may send any number. */
const maxHttpBytes = 8_192

/**
 * Sends a plain GET on a new connection. There are too many servers, with too few requests each, to keep connections open. It
 * follows no redirect, which would let a tenant's program choose what the operator requests.
 */
const askOverHttp = async ({ host, port }: Address, signal: AbortSignal): Promise<ServerAnswer | undefined> => {
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}/readyz`
  try {
    const { statusCode, isComplete, body } = await callPeer({ url, signal, maxBytes: maxHttpBytes })
    if (statusCode !== 200) return toFault(`has the status ${statusCode}, not 200`)
    return isComplete ? readHttpAnswer(body.toString()) : undefined
  } catch (error) {
    return isForeign(error) ? toFault('is not HTTP') : undefined
  }
}

/** Reports whether the parser of Node refused the bytes of an answer. */
const isForeign = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('HPE_')
