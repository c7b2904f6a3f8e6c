/** A request that the API server refused, or (status 0) did not answer. */
export class KubeError extends Error {
  override name = 'KubeError'
  /** The HTTP status; 0 where no answer came. */
  readonly status: number
  /** The reason of the Status object, such as AlreadyExists; empty where there is none. */
  readonly reason: string
  /** How long the server asked to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined

  constructor(options: { message: string; status: number; reason?: string; retryAfterMs?: number; cause?: unknown }) {
    super(options.message, { cause: options.cause })
    this.status = options.status
    this.reason = options.reason ?? ''
    this.retryAfterMs = options.retryAfterMs
  }
}

const is = (error: unknown, status: number, reason?: string): error is KubeError =>
  error instanceof KubeError && error.status === status && (reason === undefined || error.reason === reason)

/** The object does not exist. */
export const isNotFound = (error: unknown): boolean => is(error, 404)
/** The object exists already. */
export const isAlreadyExists = (error: unknown): boolean => is(error, 409, 'AlreadyExists')
/** The object is not as the writer had seen it. */
export const isConflict = (error: unknown): boolean => is(error, 409) && !isAlreadyExists(error)
/** The resourceVersion is too old to list or watch from. */
export const isExpired = (error: unknown): boolean =>
  is(error, 410) || (error instanceof KubeError && error.reason === 'Expired')
/** The server asks for fewer requests. */
export const isThrottled = (error: unknown): boolean => is(error, 429)

/** The error that a Status body stands for; `retryAfter` is the header, in seconds. */
export const errorFromStatus = (status: number, body: unknown, request: string, retryAfter?: string): KubeError => {
  const fields = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {}
  const message = typeof fields.message === 'string' && fields.message !== '' ? fields.message : `status ${status}`
  const seconds = Number(retryAfter)
  return new KubeError({
    message: `${request}: ${message}`,
    status,
    ...(typeof fields.reason === 'string' ? { reason: fields.reason } : {}),
    ...(retryAfter !== undefined && Number.isFinite(seconds) ? { retryAfterMs: seconds * 1000 } : {}),
  })
}
