import { readError } from '../error.ts'
import { withTimeout } from '../timeout.ts'
import { RealtimeError } from './error.ts'

const timeoutMs = 10_000
/** Codes of the API. The response of a proxy has none of them and says nothing about the credential. */
const finalCodes = ['unauthenticated', 'forbidden', 'not_found', 'invalid_request']

/**
 * Requests over HTTP the reason why the API refused a handshake, since a browser does not show the response to a page. Returns
 * undefined if a later attempt may succeed or the API cannot be reached.
 */
export const fetchRefusal = async (options: {
  readonly fetch: typeof globalThis.fetch
  readonly url: string
  readonly headers: [string, string][]
  readonly secrets: readonly string[]
  readonly signal: AbortSignal
}): Promise<RealtimeError | undefined> => {
  const { fetch, url, headers, secrets } = options
  const attempt = async (signal: AbortSignal): Promise<RealtimeError | undefined> => {
    // Following a redirect would send the API key to another address.
    const response = await fetch(url, { headers, redirect: 'manual', signal })
    const { code, detail } = await readError('connect', response, { secrets, nowMs: 0 })
    return finalCodes.includes(code) ? new RealtimeError(code, detail) : undefined
  }
  try {
    return await withTimeout(attempt, { operationId: 'connect', timeoutMs, signal: options.signal })
  } catch {
    return undefined
  }
}
