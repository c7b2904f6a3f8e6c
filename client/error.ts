/** A validation error of a request. The path is a JSON Pointer into the body, or the name of a header or parameter. */
export type InputFault = { readonly path: string; readonly message: string }

type ErrorFields = {
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly requestId: string | undefined
  readonly errors: readonly InputFault[]
  readonly retryAfterSeconds: number | undefined
}

/** A response other than 2xx. It contains no part of the request, and no credential, even if the response echoes one. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  /** The error code, for programs; `unknown` if the response has none, such as one of a proxy. */
  readonly code: string
  readonly detail: string
  /** The id of the request in the log of the API. */
  readonly requestId: string | undefined
  readonly errors: readonly InputFault[]
  /** The value of Retry-After, if the response has one. */
  readonly retryAfterSeconds: number | undefined

  constructor(operationId: string, fields: ErrorFields) {
    const faults = fields.errors.slice(0, 3).map(({ path, message }) => `; ${path}: ${message}`)
    super(`${operationId} was answered ${fields.status} ${fields.code}: ${fields.detail}${faults.join('')}`)
    this.status = fields.status
    this.code = fields.code
    this.detail = fields.detail
    this.requestId = fields.requestId
    this.errors = fields.errors
    this.retryAfterSeconds = fields.retryAfterSeconds
  }
}

const maxDetailLength = 200

/** Reads an error response, a problem document (RFC 9457) or any other. Each of the `secrets` in it is replaced. */
export const readError = async (
  operationId: string,
  response: Response,
  { secrets, nowMs }: { secrets: readonly string[]; nowMs: number },
): Promise<ApiError> => {
  const clean = (text: string): string => secrets.reduce((left, secret) => left.replaceAll(secret, '[redacted]'), text)
  const text = await response.text()
  const problem = parse(text, clean)
  const requestId = textOf(problem.requestId) ?? response.headers.get('x-request-id')
  return new ApiError(operationId, {
    status: response.status,
    code: textOf(problem.code) ?? (isRedirect(response) ? 'redirected' : 'unknown'),
    detail: textOf(problem.detail) ?? (isRedirect(response) ? redirected : clean(text).slice(0, maxDetailLength)),
    requestId: requestId === null ? undefined : clean(requestId),
    errors: Array.isArray(problem.errors) ? problem.errors.filter(isFault) : [],
    retryAfterSeconds: secondsOf(response.headers.get('retry-after'), nowMs),
  })
}

const redirected =
  'The API redirects to another address. The client does not follow, so that the credential stays here; use that address as baseUrl.'
const isRedirect = ({ type, status }: Response): boolean =>
  type === 'opaqueredirect' || [301, 302, 303, 307, 308].includes(status)

const parse = (text: string, clean: (text: string) => string): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(text, (_, inner: unknown) => (typeof inner === 'string' ? clean(inner) : inner))
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

const isFault = (value: unknown): value is InputFault =>
  typeof value === 'object' &&
  value !== null &&
  'path' in value &&
  'message' in value &&
  typeof value.path === 'string' &&
  typeof value.message === 'string'

/** Retry-After is a number of seconds or a date. */
const secondsOf = (header: string | null, nowMs: number): number | undefined => {
  if (header === null) return undefined
  if (/^\d+$/.test(header)) return Number(header)
  const atMs = Date.parse(header)
  return Number.isNaN(atMs) ? undefined : Math.max(0, Math.ceil((atMs - nowMs) / 1000))
}
