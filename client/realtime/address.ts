import bs58 from 'bs58'
import { identityOf } from '../options.ts'
import type { RealtimeOptions } from './types.ts'

/** The subprotocol that the API selects. The second one, which holds the credential, is never sent back. */
const subprotocol = 'orrery.v1'
/** The longest Sec-WebSocket-Protocol header that the API accepts. */
const maxProtocolsLength = 2_048

/** The URL of the connection, with credential and scope as HTTP headers and, for browsers, as WebSocket subprotocols. */
export type Address = {
  readonly url: URL
  readonly headers: [name: string, value: string][]
  readonly protocols: string[]
}

/** Returns the address for the options. Throws a TypeError, without the credential, if they cannot be sent. */
export const toAddress = (options: RealtimeOptions): Address => {
  const { worldId } = options
  const headers = identityOf(options)
  if (worldId !== undefined) headers.push(['x-svc-world-id', worldId])
  const lines = headers.map(([name, value]) => {
    if (/[\r\n]/.test(value)) throw new TypeError(`${name} must not contain line breaks.`)
    return `${name}:${value}`
  })
  const protocols = [subprotocol, bs58.encode(new TextEncoder().encode(lines.join('\n')))]
  if (protocols.join(', ').length > maxProtocolsLength) {
    throw new TypeError(`Credential and scope are too long: a handshake has room for ${maxProtocolsLength} characters.`)
  }
  const { location } = globalThis as { location?: { href: string } }
  const path = `${options.baseUrl.replace(/\/+$/, '')}/api/realtime/connect/`
  return { url: new URL(path, location?.href), headers, protocols }
}

/** Returns the URL with the WebSocket scheme. */
export const toSocketUrl = ({ href }: URL): string => href.replace(/^http/, 'ws')
