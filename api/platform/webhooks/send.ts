import { Resolver } from 'node:dns/promises'
import { request as httpsRequest, type RequestOptions } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { Clock } from '#shared/clock.ts'

/** The reasons for which an attempt got no answer. */
export const sendFailures = ['NameUnresolved', 'AddressRefused', 'ConnectionFailed', 'TlsFailed', 'TimedOut'] as const
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

/** The number of bytes of an answer that are read, and dropped, before the connection is closed. */
const maxAnswerBytes = 4_096
const maxHeaderBytes = 16_384

/**
 * Creates a sender of POST requests to URLs that match `urlPattern`. Each attempt resolves the name once, checks every
 * address, and connects to the checked addresses only, so a change of the name in between has no effect. Redirects are not
 * followed, connections are not reused, and the content of responses is dropped.
 */
export const createSend =
  ({ resolve, isAllowed, authorities, timeoutMs, clock }: Options): Send =>
  async ({ url, headers, body }) => {
    const deadline = new AbortController()
    const timer = clock.setTimeout(() => deadline.abort(), timeoutMs)
    try {
      const addresses = await resolve(new URL(url).hostname, deadline.signal)
      if (!addresses.every(isAllowed)) return { failure: 'AddressRefused' }
      const options = { headers, lookup: pinTo(addresses), ca: [...authorities], signal: deadline.signal }
      return { statusCode: await post(url, body, options) }
    } catch (error) {
      return { failure: deadline.signal.aborted ? 'TimedOut' : failureOf(error) }
    } finally {
      timer.cancel()
    }
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

/** Posts a body on a connection of its own. Resolves with the status. */
const post = (url: string, body: string, options: RequestOptions): Promise<number> =>
  new Promise((resolve, reject) => {
    const { headers = {}, ...rest } = options
    const request = httpsRequest(url, {
      ...rest,
      method: 'POST',
      agent: false,
      maxHeaderSize: maxHeaderBytes,
      headers: { ...headers, 'content-length': Buffer.byteLength(body) },
    })
    let statusCode: number | undefined
    // After the status, the rest of the answer may end in any way.
    const end = (error: Error): void => (statusCode === undefined ? reject(error) : resolve(statusCode))
    request.on('error', end)
    request.on('response', (response) => {
      let received = 0
      statusCode = response.statusCode
      response.on('data', (chunk: Buffer) => {
        received += chunk.length
        if (received > maxAnswerBytes) response.destroy()
      })
      response.on('error', end)
      response.on('close', () => resolve(statusCode ?? 0))
    })
    request.end(body)
  })

const failureOf = (error: unknown): SendFailure => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'ENOTFOUND') return 'NameUnresolved'
  return /CERT|SSL|TLS|SIGNATURE|ISSUER/.test(code) ? 'TlsFailed' : 'ConnectionFailed'
}
