/** One fault of what was sent; the path is a JSON Pointer into the body, or names a header or parameter. */
export type InputFault = { readonly path: string; readonly message: string }

type Told = {
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly requestId: string | undefined
  readonly errors: readonly InputFault[]
  readonly retryAfterSeconds: number | undefined
}

/** An answer that is not a success. It holds nothing of what was sent, and no credential even where one was echoed. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  /** The one word of the fault, for programs; `unknown` where the answer has none, as from a proxy. */
  readonly code: string
  readonly detail: string
  /** Finds the request in the log of the API. */
  readonly requestId: string | undefined
  readonly errors: readonly InputFault[]
  /** How long to wait before it is tried again, where the answer says so. */
  readonly retryAfterSeconds: number | undefined

  constructor(operationId: string, told: Told) {
    const faults = told.errors.slice(0, 3).map(({ path, message }) => `; ${path}: ${message}`)
    super(`${operationId} was answered ${told.status} ${told.code}: ${told.detail}${faults.join('')}`)
    this.status = told.status
    this.code = told.code
    this.detail = told.detail
    this.requestId = told.requestId
    this.errors = told.errors
    this.retryAfterSeconds = told.retryAfterSeconds
  }
}

const maxDetailLength = 200

/** The error that an answer tells, a problem document (RFC 9457) or not. `secrets` are taken out of all it says. */
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

const redirected = 'It leads elsewhere, where the credential is not sent; give the address it leads to as baseUrl.'
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
