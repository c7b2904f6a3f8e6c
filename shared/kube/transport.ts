import { setTimeout as delay } from 'node:timers/promises'
import { DecoratorHandler, type Dispatcher } from 'undici'
import { withDefined } from '#shared/optional.ts'
import { createPool, type Pool } from './agents.ts'
import { readLines, readText } from './body.ts'
import type { Credentials } from './credentials.ts'
import { createDeadline, type Deadline } from './deadline.ts'
import { errorFromStatus, isRetryable, KubeError, type TransportFault } from './errors.ts'
import type { KubeMetrics } from './metrics.ts'

/** A request to the API server. `path` starts with a slash. */
export type Request = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  query?: Record<string, string | undefined>
  body?: unknown
  contentType?: string
  /** Limit for the whole request with its answer; 30 s by default. */
  timeoutMs?: number
  /** Limit for the answer, above which the request fails with the reason TooLarge; 32 MiB by default. */
  maxAnswerBytes?: number
  signal?: AbortSignal | undefined
  /**
   * Called when the connection is open, before the first byte is written. An error that it returns is thrown, and nothing
   * is sent. A check before the call would be outdated by then, after a slow connection or a suspended process.
   */
  guard?: () => KubeError | undefined
}

/** A request for a stream of events. */
export type WatchRequest = {
  path: string
  query: Record<string, string | undefined>
  signal: AbortSignal
  /** Longest time without data from the server. */
  idleTimeoutMs: number
}

/** A request for a stream of bytes. */
export type BytesRequest = {
  path: string
  query: Record<string, string | undefined>
  signal: AbortSignal
  /** Limit for the whole stream. */
  timeoutMs: number
}

/**
 * Connections to one API server. Every request has a deadline and an answer of limited size, and fails with a `KubeError`.
 * A write is sent once, since only its caller knows whether it can be repeated; a GET is tried up to three times.
 */
export type Transport = {
  request<T>(request: Request): Promise<T>
  /** Yields the parsed lines of a watch. Fails with a `KubeError` at invalid JSON or after `idleTimeoutMs` of silence. */
  watch(request: WatchRequest): AsyncIterable<unknown>
  /**
   * Yields the bytes of an answer as they come, such as a log. Fails with a `KubeError`. The signal ends a stream that is
   * silent; leaving the loop alone does not.
   */
  bytes(request: BytesRequest): AsyncIterable<Buffer>
  /** Aborts the requests in progress and closes all connections. */
  close(): Promise<void>
}

const requestTimeoutMs = 30_000
const defaultMaxAnswerBytes = 32 * 1024 * 1024
/** Objects are at most 1.5 MiB in etcd, with `managedFields` and escapes somewhat more here. */
const maxLineBytes = 8 * 1024 * 1024
const maxWatches = 64
const getAttempts = 3
const firstRetryMs = 100
/** A longer pause that the server requests is left to the caller. */
const maxRetryMs = 2_000

/** Creates a transport with one pool of connections for calls and one for watches, so that neither starves the other. */
export const createTransport = (options: {
  credentials: Credentials
  userAgent: string
  connections?: number
  random?: () => number
  metrics?: KubeMetrics
  /** Called with the Date header of each response. */
  onDate?: (date: string) => void
}): Transport => {
  const { credentials, random = Math.random } = options
  const calls = createPool(credentials, options.connections ?? 32)
  const watches = createPool(credentials, maxWatches)
  const send = createSender(options)

  const once = async (request: Request, deadline: Deadline): Promise<unknown> => {
    const answer = await send(calls, request, deadline)
    try {
      return parse(request, await readText(answer.body, request.maxAnswerBytes ?? defaultMaxAnswerBytes))
    } catch (error) {
      throw unanswered(request, error, deadline)
    }
  }
  return {
    request: async <T>(request: Request): Promise<T> => {
      const deadline = createDeadline(describe(request), request.timeoutMs ?? requestTimeoutMs, request.signal)
      try {
        for (let attempt = 1; ; attempt += 1) {
          try {
            return (await once(request, deadline)) as T
          } catch (error) {
            const waitMs = retryAfter(error, attempt, random)
            if (request.method !== 'GET' || waitMs === undefined || waitMs >= deadline.remainingMs()) throw error
            await delay(waitMs, undefined, { signal: deadline.signal }).catch(() => undefined)
            if (deadline.signal.aborted) throw error
          }
        }
      } finally {
        deadline.clear()
      }
    },
    watch: async function* ({ path, query, signal, idleTimeoutMs }) {
      const request: Request = { method: 'GET', path, query }
      const deadline = createDeadline(`watch ${path}`, idleTimeoutMs, signal)
      let body: Dispatcher.ResponseData['body'] | undefined
      try {
        body = (await send(watches, request, deadline)).body
        for await (const line of readLines(heard(body, deadline.restart), maxLineBytes)) yield parse(request, line)
      } catch (error) {
        throw unanswered(request, error, deadline)
      } finally {
        deadline.clear()
        // Closes the connection, since the rest of the stream will not be read.
        body?.destroy()
      }
    },
    bytes: async function* ({ path, query, signal, timeoutMs }) {
      const request: Request = { method: 'GET', path, query }
      const deadline = createDeadline(`GET ${path}`, timeoutMs, signal)
      let body: Dispatcher.ResponseData['body'] | undefined
      try {
        body = (await send(watches, request, deadline)).body
        yield* body
      } catch (error) {
        throw unanswered(request, error, deadline)
      } finally {
        deadline.clear()
        body?.destroy()
      }
    },
    close: async () => {
      await Promise.all([calls.destroy(), watches.destroy()])
    },
  }
}

/** Characters that YAML refuses or reads as line breaks, unlike JSON. The API server reads an apply as YAML. */
const unlikeYaml = /[\u007f-\u009f\u2028\u2029\ufffe\uffff]/g
/** The strings of a JSON text; keys with their colon. It reads each character once. */
const strings = /"[^"\\]*(?:\\.[^"\\]*)*":?/g
/** YAML reads longer keys only with `?` before them. */
const maxKeyLength = 1_000

const textOf = ({ body, contentType }: Request): string | undefined => {
  if (body === undefined) return undefined
  const json = JSON.stringify(body)
  return contentType === 'application/apply-patch+yaml'
    ? json.replace(unlikeYaml, escapeCharacter).replace(strings, markLongKey)
    : json
}

const markLongKey = (text: string): string => (text.length > maxKeyLength && text.endsWith(':') ? `? ${text}` : text)

const escapeCharacter = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Creates a function that sends a request and returns its successful answer with an unread body. */
const createSender = (options: {
  credentials: Credentials
  userAgent: string
  metrics?: KubeMetrics
  onDate?: (date: string) => void
}) => {
  const { credentials, metrics } = options
  const { host, origin, pathname } = new URL(credentials.server)
  const prefix = pathname.replace(/\/$/, '')
  const exchange = async (pool: Pool, request: Request, signal: AbortSignal): Promise<Dispatcher.ResponseData> => {
    const agent = await pool.agent()
    const dispatcher = request.guard === undefined ? agent : agent.compose(guarding(request.guard))
    const body = textOf(request)
    return dispatcher.request({
      origin,
      path: `${prefix}${request.path}${search(request.query)}`,
      method: request.method,
      headers: {
        // Pods as protobuf take the operator as much CPU, since V8 parses JSON in native code.
        accept: 'application/json',
        'user-agent': options.userAgent,
        ...(body === undefined ? {} : { 'content-type': request.contentType ?? 'application/json' }),
        ...(await credentials.headers()),
      },
      ...withDefined({ body }),
      // undici would close the connection after a DELETE with a body.
      reset: false,
      signal,
    })
  }
  return async (pool: Pool, request: Request, deadline: Deadline): Promise<Dispatcher.ResponseData> => {
    const startedMs = performance.now()
    const answered = (code: string): void =>
      metrics?.observeRequest({ method: request.method, code, host, seconds: (performance.now() - startedMs) / 1000 })
    try {
      const answer = await exchange(pool, request, deadline.signal)
      answered(String(answer.statusCode))
      const date = header(answer, 'date')
      if (date !== undefined) options.onDate?.(date)
      if (answer.statusCode < 300) return answer
      if (answer.statusCode === 401) credentials.reportRefusal()
      const text = await readText(answer.body, maxLineBytes)
      throw errorFromStatus(answer.statusCode, parseOr(text), describe(request), header(answer, 'retry-after'))
    } catch (error) {
      if (!(error instanceof KubeError)) answered('<error>')
      throw unanswered(request, error, deadline)
    }
  }
}

const guarding =
  (guard: () => KubeError | undefined): Dispatcher.DispatcherComposeInterceptor =>
  (dispatch) =>
  (options, handler) => {
    const decorated: Dispatcher.DispatchHandler = new DecoratorHandler(handler)
    const start = decorated.onRequestStart?.bind(decorated)
    decorated.onRequestStart = (controller, context) => {
      start?.(controller, context)
      const refusal = guard()
      if (refusal !== undefined) controller.abort(refusal)
    }
    return dispatch(options, decorated)
  }

/** Returns the wait in milliseconds before a GET is tried again, or undefined if it is not tried again. */
const retryAfter = (error: unknown, attempt: number, random: () => number): number | undefined => {
  if (attempt >= getAttempts || !isRetryable(error)) return undefined
  const askedMs = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0
  const waitMs = Math.max(askedMs, firstRetryMs * 2 ** (attempt - 1)) * (1 + random() / 2)
  return waitMs > maxRetryMs ? undefined : waitMs
}

const describe = (request: Request): string => `${request.method} ${request.path}`

const search = (query: Record<string, string | undefined> = {}): string => {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, value)
  return parameters.size > 0 ? `?${parameters}` : ''
}

const header = (answer: Dispatcher.ResponseData, name: string): string | undefined => {
  const value = answer.headers[name]
  return Array.isArray(value) ? value[0] : value
}

const unanswered = (request: Request, cause: unknown, deadline: Deadline): KubeError => {
  if (cause instanceof KubeError && cause.status !== 0) return cause
  if (deadline.signal.reason instanceof KubeError) return deadline.signal.reason
  if (cause instanceof KubeError) return cause
  const why = cause instanceof Error ? cause.message || cause.name : String(cause)
  return fault('Unreachable', `${describe(request)}: no answer (${why})`, cause)
}

const parse = (request: Request, text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw fault('Malformed', `${describe(request)}: the answer is not JSON: ${text.slice(0, 128)}`, cause)
  }
}

const parseOr = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const fault = (reason: TransportFault, message: string, cause?: unknown): KubeError =>
  new KubeError({ message, status: 0, reason, cause })

async function* heard(chunks: AsyncIterable<Buffer>, onChunk: () => void): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    onChunk()
    yield chunk
  }
}
