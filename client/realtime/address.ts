import bs58 from 'bs58'
import { identityOf } from '../options.ts'
import type { RealtimeOptions } from './types.ts'

/** What the API answers; the list beside it, which holds the credential, comes back in no answer. */
const subprotocol = 'orrery.v1'
/** The API refuses a longer one. */
const maxProtocolsLength = 2_048

/** Where to connect, and how: `headers` for HTTP, and `protocols` with the same for a WebSocket, which has none in a page. */
export type Address = {
  readonly url: URL
  readonly headers: [name: string, value: string][]
  readonly protocols: string[]
}

/** The address that the options mean; throws a TypeError where there can be none, without telling the credential. */
export const addressOf = (options: RealtimeOptions): Address => {
  const { worldId } = options
  const headers = identityOf(options)
  if (worldId !== undefined) headers.push(['x-svc-world-id', worldId])
  const lines = headers.map(([name, value]) => {
    if (/[\r\n]/.test(value)) throw new TypeError(`${name} must be one line.`)
    return `${name}:${value}`
  })
  const protocols = [subprotocol, bs58.encode(new TextEncoder().encode(lines.join('\n')))]
  if (protocols.join(', ').length > maxProtocolsLength) {
    throw new TypeError(`Credential and scope take more than the ${maxProtocolsLength} characters of a handshake.`)
  }
  const { location } = globalThis as { location?: { href: string } }
  const path = `${options.baseUrl.replace(/\/+$/, '')}/api/realtime/connect/`
  return { url: new URL(path, location?.href), headers, protocols }
}

/** The same address for a WebSocket. */
export const socketUrl = ({ href }: URL): string => href.replace(/^http/, 'ws')
