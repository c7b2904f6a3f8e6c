import bs58 from 'bs58'
import { identityOf, type KnownIdentity } from '../options.ts'
import type { RealtimeOptions } from './types.ts'

/** The subprotocol that the API selects. The second one, which holds the credential or the ticket, is never sent back. */
const subprotocol = 'orrery.v1'
/** The longest Sec-WebSocket-Protocol header that the API accepts. */
const maxProtocolsLength = 2_048
/** The longest credential for which the API gives a ticket. */
const maxCredentialLength = 8_192
/** A text of the length of a ticket. */
const someTicket = 't'.repeat(47)

type Header = [name: string, value: string]

/**
 * The URLs of the connection and of tickets, with credential and scope as HTTP headers. `protocols` are the subprotocols with these
 * headers, and `protocolsWith` returns those with a ticket in place of the credential. Both are undefined if they do not fit.
 */
export type Address = {
  readonly url: URL
  readonly ticketUrl: URL
  readonly headers: Header[]
  readonly protocols: string[] | undefined
  readonly protocolsWith: (ticket: string) => string[] | undefined
}

/** Returns the address for the options. Throws a TypeError, without the credential, if they cannot be sent. */
export const toAddress = (options: KnownIdentity & Pick<RealtimeOptions, 'baseUrl' | 'worldId'>): Address => {
  const { worldId } = options
  const headers = identityOf(options)
  if (worldId !== undefined) headers.push(['x-svc-world-id', worldId])
  const protocols = toProtocols(headers)
  const { location } = globalThis as { location?: { href: string } }
  const urlOf = (name: string) =>
    new URL(`${options.baseUrl.replace(/\/+$/, '')}/api/realtime/${name}/`, location?.href)
  const scope = headers.filter(([name]) => name.startsWith('x-svc-'))
  const protocolsWith = (ticket: string) => toProtocols([['x-realtime-ticket', ticket], ...scope])
  if (protocolsWith(someTicket) === undefined) throw tooLong('The scope', maxProtocolsLength)
  const isTooLong = headers.some(([, { length }]) => length > maxCredentialLength)
  if (isTooLong) throw tooLong('The credential', maxCredentialLength)
  return {
    url: urlOf('connect'),
    ticketUrl: urlOf('tickets'),
    headers,
    protocols,
    protocolsWith,
  }
}

const tooLong = (what: string, maxLength: number): TypeError =>
  new TypeError(`${what} is too long: a connection has room for ${maxLength} characters.`)

/** Returns the subprotocols with the headers, or undefined if they are too long for a handshake. */
const toProtocols = (headers: readonly Header[]): string[] | undefined => {
  const lines = headers.map(([name, value]) => {
    if (/[\r\n]/.test(value)) throw new TypeError(`${name} must not contain line breaks.`)
    return `${name}:${value}`
  })
  const text = lines.join('\n')
  // Encoding takes quadratic time, and makes no text shorter.
  if (text.length > maxProtocolsLength) return undefined
  const protocols = [subprotocol, bs58.encode(new TextEncoder().encode(text))]
  return protocols.join(', ').length > maxProtocolsLength ? undefined : protocols
}

/** Returns the URL with the WebSocket scheme. */
export const toSocketUrl = ({ href }: URL): string => href.replace(/^http/, 'ws')
