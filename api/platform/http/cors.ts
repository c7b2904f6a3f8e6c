import type { Context as HonoContext } from 'hono'
import { type Answerable, answer } from './answer.ts'

const exposed =
  'etag, link, location, retry-after, x-request-id, idempotency-replayed, ratelimit-remaining, ratelimit-reset'
const accepted = [
  'authorization',
  'content-type',
  'idempotency-key',
  'if-match',
  'if-none-match',
  'x-api-key',
  'x-request-id',
]

/**
 * Returns a handler of the CORS protocol (Fetch standard) for the allowed origins. Other origins get no CORS headers, so
 * their browser refuses the response. Credentials are headers, never cookies, so credentialed requests are not allowed.
 * The handler returns false after it has answered a preflight request.
 */
export const createCors = (allowedOrigins: readonly string[], ownHeaders: readonly string[]) => {
  const preflight = {
    'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
    'access-control-allow-headers': [...accepted, ...ownHeaders].join(', '),
    'access-control-max-age': '600',
  }
  const allowed = new Set(allowedOrigins)
  return (c: Answerable & Pick<HonoContext, 'req' | 'res'>): boolean => {
    const origin = c.req.header('origin')
    if (origin === undefined || !allowed.has(origin)) return true
    const headers = c.get('headers')
    headers['access-control-allow-origin'] = origin
    headers.vary = 'origin'
    headers['access-control-expose-headers'] = exposed
    if (c.req.method !== 'OPTIONS' || c.req.header('access-control-request-method') === undefined) return true
    c.res = answer(c, null, { status: 204, headers: preflight })
    return false
  }
}
