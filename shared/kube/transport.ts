import { Agent, type Dispatcher } from 'undici'
import type { Credentials } from './config.ts'
import { errorFromStatus, KubeError } from './errors.ts'
import type { KubeMetrics } from './metrics.ts'

/** One request to the API server; `path` begins with a slash. */
export type Request = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  query?: Record<string, string | undefined>
  body?: unknown
  contentType?: string
  signal?: AbortSignal
}

/**
 * Talks to one API server. Every request has a deadline and a bounded answer, and fails with a `KubeError`. Nothing is
 * retried here: only the caller knows whether a write may be repeated.
 */
export type Transport = {
  request<T>(request: Request): Promise<T>
  /** The lines of a watch, parsed; ends with an error when nothing comes for `idleTimeoutMs`. */
  watch(request: {
    path: string
    query: Record<string, string | undefined>
    signal: AbortSignal
    idleTimeoutMs: number
  }): AsyncIterable<unknown>
  close(): Promise<void>
}

const requestTimeoutMs = 30_000
const maxAnswerBytes = 64 * 1024 * 1024
const maxLineBytes = 4 * 1024 * 1024

/**
 * A transport with connections that are kept: HTTP/1.1, since a dead shared HTTP/2 connection would take every watch
 * with it, and one pool each for calls and for watches, so that watches never starve calls.
 */
export const createTransport = (options: {
  credentials: Credentials
  userAgent: string
  connections?: number
  metrics?: KubeMetrics
}): Transport => {
  const { credentials, metrics } = options
  const agents = createAgents(credentials, options.connections ?? 32)

  const send = async (agent: Agent, request: Request): Promise<Dispatcher.ResponseData> => {
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries(request.query ?? {})) if (value !== undefined) query.set(name, value)
    const search = query.size > 0 ? `?${query}` : ''
    try {
      const answer = await agent.request({
        origin: credentials.server,
        path: `${request.path}${search}`,
        method: request.method,
        headers: {
          accept: 'application/json',
          'user-agent': options.userAgent,
          ...(request.body === undefined ? {} : { 'content-type': request.contentType ?? 'application/json' }),
          ...(await credentials.headers()),
        },
        ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
        ...(request.signal ? { signal: request.signal } : {}),
      })
      metrics?.request(request.method, String(answer.statusCode))
      return answer
    } catch (error) {
      metrics?.request(request.method, '<error>')
      throw unanswered(request, error)
    }
  }

  const readWhole = async (request: Request, answer: Dispatcher.ResponseData): Promise<unknown> => {
    let bytes = 0
    const chunks: Buffer[] = []
    try {
      for await (const chunk of answer.body as AsyncIterable<Buffer>) {
        bytes += chunk.length
        if (bytes > maxAnswerBytes) throw new Error(`the answer is larger than ${maxAnswerBytes} bytes`)
        chunks.push(chunk)
      }
    } catch (error) {
      throw unanswered(request, error)
    }
    const text = Buffer.concat(chunks).toString('utf8')
    return parse(text)
  }

  return {
    request: async <T>(request: Request): Promise<T> => {
      const deadline = AbortSignal.timeout(requestTimeoutMs)
      const signal = request.signal ? AbortSignal.any([request.signal, deadline]) : deadline
      const answer = await send(await agents.calls(), { ...request, signal })
      const body = await readWhole(request, answer)
      if (answer.statusCode < 300) return body as T
      throw errorFromStatus(answer.statusCode, body, describe(request), header(answer, 'retry-after'))
    },
    watch: async function* ({ path, query, signal, idleTimeoutMs }) {
      const idle = new AbortController()
      let timer = setTimeout(() => idle.abort(new Error(`nothing came for ${idleTimeoutMs} ms`)), idleTimeoutMs)
      const request: Request = { method: 'GET', path, query, signal: AbortSignal.any([signal, idle.signal]) }
      try {
        const answer = await send(await agents.watches(), request)
        if (answer.statusCode >= 300) {
          const body = await readWhole(request, answer)
          throw errorFromStatus(answer.statusCode, body, describe(request), header(answer, 'retry-after'))
        }
        for await (const line of lines(answer.body as AsyncIterable<Buffer>, () => {
          clearTimeout(timer)
          timer = setTimeout(() => idle.abort(new Error(`nothing came for ${idleTimeoutMs} ms`)), idleTimeoutMs)
        })) {
          yield JSON.parse(line)
        }
      } catch (error) {
        throw error instanceof KubeError ? error : unanswered(request, error)
      } finally {
        clearTimeout(timer)
        idle.abort()
      }
    },
    close: async () => agents.destroy(),
  }
}

/** The pools, made on first use and again when the trust or the client certificate changed. */
const createAgents = (credentials: Credentials, connections: number) => {
  const pool = (size: number) => {
    let made: { agent: Agent; fingerprint: string } | undefined
    const get = async (): Promise<Agent> => {
      const tls = await credentials.tls()
      const fingerprint = `${tls.ca}${tls.cert}`
      if (made?.fingerprint === fingerprint) return made.agent
      void made?.agent.close()
      const agent = new Agent({
        connections: size,
        allowH2: false,
        pipelining: 1,
        keepAliveTimeout: 30_000,
        headersTimeout: 0,
        bodyTimeout: 0,
        connect: { ...tls, timeout: 10_000 },
      })
      made = { agent, fingerprint }
      return agent
    }
    return { get, destroy: async () => made?.agent.destroy() }
  }
  const calls = pool(connections)
  const watches = pool(64)
  return {
    calls: calls.get,
    watches: watches.get,
    destroy: async () => {
      await Promise.all([calls.destroy(), watches.destroy()])
    },
  }
}

const describe = (request: Request): string => `${request.method} ${request.path}`

const unanswered = (request: Request, cause: unknown): KubeError => {
  const why = cause instanceof Error ? cause.message || cause.name : String(cause)
  return new KubeError({ message: `${describe(request)}: no answer (${why})`, status: 0, cause })
}

const header = (answer: Dispatcher.ResponseData, name: string): string | undefined => {
  const value = answer.headers[name]
  return Array.isArray(value) ? value[0] : value
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return { message: text.slice(0, 256) }
  }
}

async function* lines(chunks: AsyncIterable<Buffer>, onData: () => void): AsyncGenerator<string> {
  let rest = Buffer.alloc(0)
  for await (const chunk of chunks) {
    onData()
    let data = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    for (let end = data.indexOf(10); end >= 0; end = data.indexOf(10)) {
      if (end > 0) yield data.toString('utf8', 0, end)
      data = data.subarray(end + 1)
    }
    if (data.length > maxLineBytes) throw new Error(`a line is longer than ${maxLineBytes} bytes`)
    rest = Buffer.from(data)
  }
}
