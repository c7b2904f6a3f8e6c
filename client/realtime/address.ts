import bs58 from 'bs58'
import { identityOf } from '../options.ts'
import type { RealtimeOptions } from './types.ts'

/** What the API answers; the list beside it, which holds the credential, comes back in no answer. */
const subprotocol = 'orrery.v1'
/** The API refuses a longer one, in a way that a browser does not show. */
const maxProtocolsLength = 2_048

/** Where to connect, and the subprotocols by which a browser says what REST has in headers; throws for what cannot be. */
export const addressOf = (options: RealtimeOptions): { url: string; protocols: string[] } => {
  const { worldId } = options
  const headers = [...identityOf(options), ...(worldId === undefined ? [] : [['x-svc-world-id', worldId]])]
  const lines = headers.map(([name, value = '']) => {
    if (/[\r\n]/.test(value)) throw new TypeError(`${name} must be one line.`)
    return `${name}:${value}`
  })
  const protocols = [subprotocol, bs58.encode(new TextEncoder().encode(lines.join('\n')))]
  if (protocols.join(', ').length > maxProtocolsLength) {
    throw new TypeError(`Credential and scope take more than the ${maxProtocolsLength} characters of a handshake.`)
  }
  return { url: urlOf(options.baseUrl), protocols }
}

const urlOf = (baseUrl: string): string => {
  const { location } = globalThis as { location?: { href: string } }
  const url = new URL(`${baseUrl.replace(/\/+$/, '')}/api/realtime/connect/`, location?.href)
  url.protocol = url.protocol.replace(/^http/, 'ws')
  return url.href
}
