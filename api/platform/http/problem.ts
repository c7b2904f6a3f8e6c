import { ObjectStoreError } from '#api/platform/objects/errors.ts'

/** One fault of a request's input; the path is a JSON Pointer (RFC 6901) into the body, or names a header or parameter. */
export type InputFault = { readonly path: string; readonly message: string }

/** A JSON Pointer to a place in a body. */
export const pointer = (path: readonly PropertyKey[]): string =>
  path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

const titles = {
  malformed_json: [400, 'The body is not JSON'],
  invalid_request: [400, 'The request is invalid'],
  unauthenticated: [401, 'No valid credential was given'],
  forbidden: [403, 'The credential does not permit this'],
  size_not_allowed: [403, 'This size is not allowed'],
  not_found: [404, 'There is nothing here'],
  method_not_allowed: [405, 'This method is not served here'],
  conflict: [409, 'The present state does not allow this'],
  limit_reached: [409, 'A limit is reached'],
  precondition_failed: [412, 'The thing has changed meanwhile'],
  body_too_large: [413, 'The body is too large'],
  unsupported_media_type: [415, 'The body has a type that is not served here'],
  build_unresolved: [422, 'The build cannot be resolved'],
  upgrade_required: [426, 'This path speaks WebSocket'],
  rate_limited: [429, 'Too many requests'],
  internal_error: [500, 'Something went wrong here'],
  unavailable: [503, 'Something that this needs cannot be reached'],
} as const

/** The one word of a fault, for programs; `/problems/<code>` is its type. */
export type ProblemCode = keyof typeof titles

/** A fault that is told to the client as it stands. Whatever else is thrown is told as an opaque 500. */
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

/** Absent, or another tenant's: the two are told alike. */
export const notFound = (): Problem =>
  new Problem('not_found', 'It does not exist, or the credential and the headers do not lead to it.')

/** The longest detail: some name what the caller sent, of which an answer repeats no more than this. */
const maxDetailLength = 1_024

/** Returns the body (RFC 9457), status and headers of the answer to a problem. */
export const problemResponse = (problem: Problem, requestId: string) => {
  const [status, title] = titles[problem.code]
  const body = {
    type: `/problems/${problem.code}`,
    title,
    status,
    detail: problem.message.slice(0, maxDetailLength),
    code: problem.code,
    requestId,
    ...(problem.errors === undefined ? {} : { errors: problem.errors }),
  }
  return {
    body: JSON.stringify(body),
    status,
    headers: { 'content-type': 'application/problem+json', ...problem.headers },
  }
}

/** The problem that an error stands for; an unknown one is an opaque 500 with the error as its cause. */
export const toProblem = (error: unknown): Problem => {
  if (error instanceof Problem) return error
  if (isDatabaseAway(error)) {
    const headers = { 'retry-after': '2' }
    return new Problem('unavailable', 'The database does not answer; try again.', { headers, cause: error })
  }
  if (error instanceof ObjectStoreError) {
    const headers = { 'retry-after': '5' }
    return new Problem('unavailable', 'The object store does not answer; try again.', { headers, cause: error })
  }
  return new Problem('internal_error', 'The request id finds the cause in the log.', { cause: error })
}

/** Of sockets, and of Postgres (its manual, appendix A): too many connections, cancelled, ended for idling, shut down. */
const awayCodes = [
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  '25P03',
  '53300',
  '57014',
  '57P01',
  '57P02',
  '57P03',
]

/** What pg says, without a code, of a session that was lost or could not be had in time. */
const awayMessage =
  /^(Connection terminated|timeout exceeded when trying to connect|timeout expired|Client (has encountered|was closed))/

/** Whether a failed query failed because the database is out, rather than by what was asked of it. */
export const isDatabaseAway = (error: unknown): boolean => {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    if ('code' in at && awayCodes.includes(String(at.code))) return true
    if (awayMessage.test(at.message)) return true
    if (at instanceof AggregateError && at.errors.some(isDatabaseAway)) return true
  }
  return false
}
