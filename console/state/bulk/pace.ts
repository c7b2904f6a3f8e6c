/** The headers of a response. */
export type ResponseHeaders = { get(name: string): string | null }

/** The requests of the credential that are left to the pages of the console. */
const reserve = 10
const maxDelayMs = 10_000

/**
 * Returns the milliseconds until the next request by the RateLimit headers of the last response: 0, unless few requests of the
 * credential are left. Other programs may use the same key.
 */
export const delayByRate = (headers: ResponseHeaders): number => {
  const limit = numberOf(headers, 'limit')
  const remaining = numberOf(headers, 'remaining')
  const resetSeconds = numberOf(headers, 'reset')
  if (limit === undefined || remaining === undefined || resetSeconds === undefined) return 0
  const missing = Math.min(reserve, limit) - remaining
  if (missing <= 0) return 0
  // The reset is the time until none is used, and they come back evenly.
  return Math.min(maxDelayMs, Math.ceil((missing * resetSeconds * 1_000) / Math.max(1, limit - remaining)))
}

const numberOf = (headers: ResponseHeaders, name: string): number | undefined => {
  const text = headers.get(`ratelimit-${name}`) ?? ''
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined
}

/**
 * Returns the time of a request by the clock of the API, from its response, or by that of the browser if the response has no date. Times are
 * milliseconds since 1970. It is at most two seconds and the way of the response too early, and never too late.
 */
export const sentAtByServer = (
  headers: ResponseHeaders,
  sent: { readonly atMs: number; readonly nowMs: number },
): number => {
  const dateMs = Date.parse(headers.get('date') ?? '')
  return Number.isNaN(dateMs) ? sent.atMs : dateMs - (sent.nowMs - sent.atMs)
}
