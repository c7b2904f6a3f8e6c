import { readError } from '../error.ts'
import { withTimeout } from '../timeout.ts'
import { RealtimeError } from './error.ts'

const timeoutMs = 10_000
/** In the words of the API itself: what a proxy answers while the API is away says nothing of the credential. */
const finalWords = ['unauthenticated', 'forbidden', 'not_found', 'invalid_request']

/**
 * Why the API admits no such connection, as it says over HTTP: a WebSocket tells a page no more than that it was not
 * opened. Undefined is that it would, that it may later, or that it cannot be asked.
 */
export const refusalOf = async (asked: {
  readonly fetch: typeof globalThis.fetch
  readonly url: string
  readonly headers: [string, string][]
  readonly secrets: readonly string[]
  readonly signal: AbortSignal
}): Promise<RealtimeError | undefined> => {
  const { fetch, url, headers, secrets } = asked
  const attempt = async (signal: AbortSignal): Promise<RealtimeError | undefined> => {
    // A redirect that is followed would take the API key with it, to wherever it leads.
    const response = await fetch(url, { headers, redirect: 'manual', signal })
    const { code, detail } = await readError('connect', response, { secrets, nowMs: 0 })
    return finalWords.includes(code) ? new RealtimeError(code, detail) : undefined
  }
  try {
    return await withTimeout(attempt, { operationId: 'connect', timeoutMs, signal: asked.signal })
  } catch {
    return undefined
  }
}
