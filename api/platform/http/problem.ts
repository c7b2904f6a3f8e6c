import { ObjectStoreError } from '#api/platform/objects/errors.ts'
import { withDefined } from '#shared/optional.ts'

/** A validation error. The path is a JSON Pointer (RFC 6901) into the body, or the name of a header or parameter. */
export type InputFault = { readonly path: string; readonly message: string }

/** Returns the JSON Pointer (RFC 6901) of a path in a body. */
export const pointer = (path: readonly PropertyKey[]): string =>
  path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

const titles = {
  malformed_json: [400, 'Malformed JSON'],
  invalid_request: [400, 'Invalid request'],
  unauthenticated: [401, 'Missing or invalid credential'],
  forbidden: [403, 'Permission denied'],
  size_not_allowed: [403, 'Size not allowed'],
  image_not_allowed: [403, 'Image not allowed'],
  host_port_not_allowed: [403, 'Host port not allowed'],
  not_found: [404, 'Not found'],
  method_not_allowed: [405, 'Method not allowed'],
  body_too_slow: [408, 'Body too slow'],
  conflict: [409, 'Conflict with the current state'],
  limit_reached: [409, 'Limit reached'],
  precondition_failed: [412, 'Precondition failed'],
  body_too_large: [413, 'Body too large'],
  unsupported_media_type: [415, 'Unsupported content type'],
  build_unresolved: [422, 'Build cannot be resolved'],
  sleep_unsupported: [422, 'Server does not report its players'],
  upgrade_required: [426, 'WebSocket upgrade required'],
  rate_limited: [429, 'Too many requests'],
  internal_error: [500, 'Internal error'],
  not_configured: [501, 'Not configured'],
  unavailable: [503, 'Dependency unavailable'],
} as const

/** The stable code of a problem, for programs. The problem type is `/problems/<code>`. */
export type ProblemCode = keyof typeof titles

/** An error whose message is sent to the client. Any other error becomes an opaque 500. */
export class Problem extends Error {
  override name = 'Problem'
  readonly code: ProblemCode
  readonly errors: readonly InputFault[] | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(
    code: ProblemCode,
    detail: string,
    more: { errors?: readonly InputFault[]; headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(detail, { cause: more.cause })
    this.code = code
    this.errors = more.errors
    this.headers = more.headers ?? {}
  }

  get status(): number {
    return titles[this.code][0]
  }
}

/** Returns the 404 for a resource that is absent or belongs to another tenant. Both get the same answer. */
export const notFound = (): Problem =>
  new Problem('not_found', 'The resource does not exist, or the credential or the scope headers give no access to it.')

/** Returns the first row. Throws a 404 if there is none. */
export const found = <Row>([row]: readonly Row[]): Row => {
  if (row === undefined) throw notFound()
  return row
}

/** The maximum length of `detail`, since some details quote the request. */
const maxDetailLength = 1_024

/** Returns the body (RFC 9457), status and headers of the response for a problem. */
export const problemResponse = (problem: Problem, requestId: string) => {
  const [status, title] = titles[problem.code]
  const body = {
    type: `/problems/${problem.code}`,
    title,
    status,
    detail: problem.message.slice(0, maxDetailLength),
    code: problem.code,
    requestId,
    ...withDefined({ errors: problem.errors }),
  }
  return {
    body: JSON.stringify(body),
    status,
    headers: { 'content-type': 'application/problem+json', ...problem.headers },
  }
}

/** Returns the problem for an error. An unexpected error becomes an opaque 500 with the error as its cause. */
export const toProblem = (error: unknown): Problem => {
  if (error instanceof Problem) return error
  if (isDatabaseUnavailable(error)) {
    const headers = { 'retry-after': '2' }
    return new Problem('unavailable', 'The database is unavailable or too busy. Retry after the time in Retry-After.', {
      headers,
      cause: error,
    })
  }
  if (error instanceof ObjectStoreError) {
    const headers = { 'retry-after': '5' }
    return new Problem('unavailable', 'The object store is unavailable. Retry after the time in Retry-After.', {
      headers,
      cause: error,
    })
  }
  return new Problem('internal_error', 'An unexpected error occurred. The log has an entry with the request id.', {
    cause: error,
  })
}

/** Socket errors, and SQLSTATE codes of a lost or refused session, a deadlock or a cancelled query (Postgres manual, appendix A). */
const unavailableCodes = [
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  '25P03',
  '40P01',
  '53300',
  '57014',
  '57P01',
  '57P02',
  '57P03',
]

/** Messages of pg errors without a code: the session was lost or not available in time. */
const unavailableMessage =
  /^(Connection terminated|timeout exceeded when trying to connect|timeout expired|Client (has encountered|was closed))/

/** Reports whether a query failed because the database is unavailable, not because of the query itself. */
export const isDatabaseUnavailable = (error: unknown): boolean => {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    if ('code' in at && unavailableCodes.includes(String(at.code))) return true
    if (unavailableMessage.test(at.message)) return true
    if (at instanceof AggregateError && at.errors.some(isDatabaseUnavailable)) return true
  }
  return false
}
