import { readError } from '../error.ts'
import { systemClock } from '../retry.ts'
import { withTimeout } from '../timeout.ts'
import { RealtimeError } from './error.ts'

const timeoutMs = 10_000
/** The limit of the wait that a response asks for. */
const maxWaitMs = 300_000
/** Codes of the API. The response of a proxy has none of them and says nothing about the credential. */
const finalCodes = ['unauthenticated', 'forbidden', 'not_found', 'invalid_request']

/** A response other than 2xx. `error` is undefined if a later attempt, after at least `waitMs`, may succeed. */
export type Refusal = {
  readonly status: number
  /** The status and the code. */
  readonly reason: string
  readonly waitMs: number
  readonly error: RealtimeError | undefined
}

/** A request to the API. Each of the `secrets` in its response is replaced. */
export type RequestOptions = {
  readonly fetch: typeof globalThis.fetch
  readonly url: URL
  readonly headers: [string, string][]
  readonly secrets: readonly string[]
  readonly signal: AbortSignal
}

/**
 * Sends a request and returns what `read` makes of a 2xx response, or else the refusal. Returns undefined if the API cannot be
 * reached, or the response is not that of the API.
 */
export const request = async <T>(
  { method, operationId, read }: { method: string; operationId: string; read: (response: Response) => Promise<T> },
  { fetch, url, headers, secrets, signal: ending }: RequestOptions,
): Promise<T | Refusal | undefined> => {
  const attempt = async (signal: AbortSignal): Promise<T | Refusal> => {
    // Following a redirect would send the API key to another address.
    const response = await fetch(url.href, { method, headers, redirect: 'manual', signal })
    if (response.ok) return read(response)
    const {
      status,
      code,
      detail,
      retryAfterSeconds = 0,
    } = await readError(operationId, response, {
      secrets,
      nowMs: systemClock.now(),
    })
    return {
      status,
      reason: `${status} ${code}`,
      waitMs: Math.min(retryAfterSeconds * 1000, maxWaitMs),
      error: finalCodes.includes(code) ? new RealtimeError(code, detail) : undefined,
    }
  }
  try {
    return await withTimeout(attempt, { operationId, timeoutMs, signal: ending })
  } catch {
    return undefined
  }
}

/**
 * Requests over HTTP the reason why the API refused a handshake, since a browser does not show the response to a page. The status is
 * 426 if the API would admit it now.
 */
export const fetchRefusal = (options: RequestOptions): Promise<Refusal | undefined> => {
  const read = async ({ body }: Response): Promise<undefined> => {
    await body?.cancel()
    return undefined
  }
  return request({ method: 'GET', operationId: 'connect', read }, options)
}
