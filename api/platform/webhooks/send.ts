import { Resolver } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { createSecureContext } from 'node:tls'
import type { Clock } from '#shared/clock.ts'
import { callPeer, DeadlineError, within } from '#shared/peers.ts'

/**
 * The reasons for which an attempt got no answer. A name without an address and one with a private address have the same reason, so
 * that it tells nothing about the names of the internal network.
 */
export const sendFailures = ['NoPublicAddress', 'ConnectionFailed', 'TlsFailed', 'TimedOut'] as const
export type SendFailure = (typeof sendFailures)[number]

/** The result of an attempt: the status of the answer, or the reason why there is none. */
export type SendResult = { readonly statusCode: number } | { readonly failure: SendFailure }

/** Sends one message. Never rejects. */
export type Send = (message: {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}) => Promise<SendResult>

/** Resolves a host name to all its addresses. Rejects if it has none. */
export type Resolve = (host: string, signal: AbortSignal) => Promise<string[]>

type Options = {
  readonly resolve: Resolve
  readonly isAllowed: (address: string) => boolean
  /** The certificates (PEM) that receivers are checked against. */
  readonly authorities: readonly string[]
  /** The time limit of an attempt, from the look-up of the name to the end of the answer. */
  readonly timeoutMs: number
  readonly clock: Clock
}

/** The maximum number of bytes of an attempt that are read, those of TLS among them. The content is dropped. */
const maxBytes = 65_536

/**
 * Creates a sender of POST requests to URLs that match `urlPattern`. Each attempt resolves the name once, checks every
 * address, and connects to the checked addresses only, so a change of the name in between has no effect. Redirects are not
 * followed, connections are not reused, and the content of responses is dropped. After the status, the rest of a response may
 * end in any way.
 */
export const createSend = ({ resolve, isAllowed, authorities, timeoutMs, clock }: Options): Send => {
  const secureContext = createSecureContext({ ca: [...authorities] })
  return ({ url, headers, body }) =>
    within({ clock, timeoutMs }, async (signal): Promise<SendResult> => {
      const addresses = await resolve(new URL(url).hostname, signal)
      if (!addresses.every(isAllowed)) return { failure: 'NoPublicAddress' }
      const lookup = pinTo(addresses)
      const call = { url, method: 'POST', headers, body, lookup, secureContext, maxBytes, signal } as const
      return { statusCode: (await callPeer(call)).statusCode }
    }).catch((error: unknown) => ({ failure: failureOf(error) }))
}

/** Creates a resolver that sends queries to DNS servers, by default those of the machine. It uses no thread of the pool. */
export const createResolver =
  (servers: readonly string[] = []): Resolve =>
  async (host, signal) => {
    const resolver = new Resolver({ timeout: 2_000, tries: 2 })
    if (servers.length > 0) resolver.setServers(servers)
    const cancel = (): void => resolver.cancel()
    signal.addEventListener('abort', cancel, { once: true })
    try {
      const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
      const addresses = found.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
      if (addresses.length === 0) throw new NameError()
      return addresses
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }

class NameError extends Error {
  readonly code = 'ENOTFOUND'
}

/** Returns a look-up that yields these addresses for every name. */
const pinTo = (addresses: readonly string[]): LookupFunction => {
  const entries = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_host, { all }, callback) => {
    const [first] = entries
    if (all) callback(null, entries)
    else callback(null, first?.address ?? '', first?.family)
  }
}

const failureOf = (error: unknown): SendFailure => {
  if (error instanceof DeadlineError) return 'TimedOut'
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'ENOTFOUND') return 'NoPublicAddress'
  return /CERT|SSL|TLS|SIGNATURE|ISSUER/.test(code) ? 'TlsFailed' : 'ConnectionFailed'
}
