import type { CustomFetchOptions } from 'oauth4webapi'
import { Problem } from '#api/platform/http/problem.ts'
import type { Clock } from '#shared/clock.ts'
import { withDefined } from '#shared/optional.ts'
import { callPeer, within } from '#shared/peers.ts'

const timeoutMs = 5_000
/** The maximum number of bytes of an answer. */
const maxBytes = 262_144

/** Returns a 503 for an issuer that cannot be used now. */
export const issuerUnavailable = (why: string, cause?: unknown): Problem =>
  new Problem('unavailable', `${why} Retry after the time in Retry-After.`, { headers: { 'retry-after': '5' }, cause })

/** A function that sends the requests of the library to an issuer. */
export type IssuerFetch = ReturnType<typeof createIssuerFetch>

/**
 * Returns a function that sends a request to an issuer, within the limits of calls to other hosts. Throws a 503 unless the answer is
 * complete and says that the request was served or is at fault.
 */
export const createIssuerFetch =
  (issuer: string, clock: Clock) =>
  async (
    url: string,
    { method, headers, body }: CustomFetchOptions<'GET' | 'POST', URLSearchParams | undefined>,
  ): Promise<Response> => {
    const call = { url, method, headers, maxBytes, ...withDefined({ body: body?.toString() }) }
    const away = (cause: unknown): never => {
      throw issuerUnavailable(`The issuer ${issuer} does not answer.`, cause)
    }
    const answer = await within({ clock, timeoutMs }, (signal) => callPeer({ ...call, signal })).catch(away)
    const { statusCode: status } = answer
    if (!answer.isComplete) return away(new Error('The answer ended early.'))
    if (status !== 200 && (status < 400 || status > 499 || status === 429))
      return away(new Error(`HTTP status ${status}`))
    // Without the other headers: errors are in the body, and nothing else is read.
    const type = answer.headers['content-type'] ?? ''
    return new Response(answer.body, { status, headers: { 'content-type': type } })
  }
