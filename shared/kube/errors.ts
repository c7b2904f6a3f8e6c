import { withDefined } from '#shared/optional.ts'

/** Upper limit of `Retry-After` in milliseconds, so that one wrong answer cannot stop a client for a day. */
const maxRetryAfterMs = 300_000

/** The reason of a `KubeError` with status 0: no usable answer came. */
export type TransportFault = 'Aborted' | 'Timeout' | 'Unreachable' | 'Malformed' | 'TooLarge' | 'Fenced'

/** The part of meta/v1 StatusDetails that the kit reads. */
export type StatusDetails = { retryAfterSeconds?: number; causes?: { reason?: string; message?: string }[] }

/** A request that the API server refused, or (status 0) did not answer in a usable way. */
export class KubeError extends Error {
  override name = 'KubeError'
  /** The HTTP status, or 0 if no usable answer came. */
  readonly status: number
  /** The reason of the Status object, such as AlreadyExists, or a `TransportFault`; empty if there is none. */
  readonly reason: string
  /** The pause that the server requested in milliseconds, at most five minutes. */
  readonly retryAfterMs: number | undefined
  /** The details of the Status object. */
  readonly details: StatusDetails | undefined

  constructor(options: {
    message: string
    status: number
    reason?: string
    retryAfterMs?: number | undefined
    details?: StatusDetails | undefined
    cause?: unknown
  }) {
    super(options.message, withDefined({ cause: options.cause }))
    this.status = options.status
    this.reason = options.reason ?? ''
    this.retryAfterMs = options.retryAfterMs
    this.details = options.details
  }
}

const hasStatus = (error: unknown, status: number, reason?: string): error is KubeError =>
  error instanceof KubeError && error.status === status && (reason === undefined || error.reason === reason)

/** Reports whether the object, or its namespace or kind, does not exist. */
export const isNotFound = (error: unknown): boolean => hasStatus(error, 404)
/** Reports whether the caller has no right to the request, or an admission plugin refused it. */
export const isForbidden = (error: unknown): boolean => hasStatus(error, 403)
/** Reports whether an object of that name exists already. */
export const isAlreadyExists = (error: unknown): boolean => hasStatus(error, 409, 'AlreadyExists')
/** Reports whether the object has another resourceVersion or uid than the write expects, or another manager owns a field. */
export const isConflict = (error: unknown): boolean => hasStatus(error, 409) && !isAlreadyExists(error)
/** Reports whether the resourceVersion or the continue token has expired. */
export const isExpired = (error: unknown): boolean =>
  error instanceof KubeError && (error.status === 410 || error.reason === 'Expired')
/** Reports whether the server has not reached the requested resourceVersion yet. */
export const isTooLargeVersion = (error: unknown): boolean =>
  hasStatus(error, 504) && error.details?.causes?.some((cause) => cause.reason === 'ResourceVersionTooLarge') === true
/** Reports whether the server throttles requests (429). */
export const isThrottled = (error: unknown): boolean => hasStatus(error, 429)
/** Reports whether the same request may succeed soon: there was no response, or one that reports overload or a temporary fault. */
export const isRetryable = (error: unknown): boolean =>
  error instanceof KubeError &&
  !isTooLargeVersion(error) &&
  (error.status === 0
    ? error.reason === 'Unreachable' || error.reason === 'Timeout'
    : [429, 500, 502, 503, 504].includes(error.status))

/**
 * Converts a Status body into an error. `request` starts the message; `retryAfter` is the header in seconds. A body that is
 * not a Status, such as a proxy's page, is quoted in the message. A long message keeps its first and its last 1,024 characters.
 */
export const errorFromStatus = (status: number, body: unknown, request: string, retryAfter?: string): KubeError => {
  const fields: Record<string, unknown> = isRecord(body) ? body : { message: body }
  const text = typeof fields.message === 'string' ? fields.message.trim() : ''
  const details: StatusDetails | undefined = isRecord(fields.details) ? fields.details : undefined
  const seconds = retryAfter === undefined ? details?.retryAfterSeconds : Number(retryAfter)
  return new KubeError({
    message: `${request}: ${text === '' ? `status ${status}` : shorten(text)}`,
    status,
    reason: typeof fields.reason === 'string' ? fields.reason : '',
    retryAfterMs: seconds !== undefined && seconds > 0 ? Math.min(seconds * 1000, maxRetryAfterMs) : undefined,
    details,
  })
}

/** Kubernetes gives the cause at the end of a message, after the value that it quotes. */
const shorten = (text: string): string => (text.length <= 2048 ? text : `${text.slice(0, 1024)} … ${text.slice(-1024)}`)

/** Reports whether an untrusted value is an object with fields. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
