import { createSecureContext } from 'node:tls'
import { Agent, DecoratorHandler, type Dispatcher, ProxyAgent } from 'undici'
import type { Credentials, TlsOptions } from './credentials.ts'

const connectTimeoutMs = 10_000
/** Shorter than the idle timeouts of load balancers (60 s and more), which drop a connection silently. */
const idleConnectionMs = 30_000

/** Connections of one purpose to one server. */
export type Pool = {
  /** Returns the dispatcher for the current credentials. */
  agent(): Promise<Dispatcher>
  /** Aborts the requests in progress and closes all connections. */
  destroy(): Promise<void>
}

/**
 * Creates a pool of at most `connections`, with HTTP/1.1: the loss of an HTTP/2 connection would end all of its requests. When
 * the authority or client certificate changes, new requests use a new agent; the old one closes after its last request.
 */
export const createPool = (credentials: Credentials, connections: number): Pool => {
  let current: { tls: TlsOptions; agent: Dispatcher } | undefined
  const retired = new Set<Dispatcher>()
  const retire = (agent: Dispatcher): void => {
    retired.add(agent)
    const forget = (): void => void retired.delete(agent)
    agent.close().then(forget, forget)
  }
  return {
    agent: async () => {
      const tls = await credentials.tls()
      if (current?.tls === tls) return current.agent
      if (current !== undefined) retire(current.agent)
      const agent = createAgent(tls, connections, credentials.proxyUrl).compose(refuseInformational)
      current = { tls, agent }
      return agent
    },
    destroy: async () => {
      const agents = [...retired, ...(current === undefined ? [] : [current.agent])]
      await Promise.all(agents.map((agent) => agent.destroy()))
    },
  }
}

const createAgent = (options: TlsOptions, connections: number, proxyUrl: string | undefined): Dispatcher => {
  // Otherwise each connection would parse the authority and the certificate again.
  const tls = options.ca === undefined ? options : { ...options, secureContext: createSecureContext(options) }
  const common = {
    connections,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: idleConnectionMs,
    // The callers' deadlines and watchdogs bound each request as a whole.
    headersTimeout: 0,
    bodyTimeout: 0,
  }
  if (proxyUrl === undefined) return new Agent({ ...common, connect: { ...tls, timeout: connectTimeoutMs } })
  const timeout = connectTimeoutMs
  return new ProxyAgent({ ...common, uri: proxyUrl, requestTls: { ...tls, timeout }, proxyTls: { timeout } })
}

/** Fails a request at its first informational response. Undici would read any number of them. */
const refuseInformational: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
  const decorated: Dispatcher.DispatchHandler = new DecoratorHandler(handler)
  const start = decorated.onResponseStart?.bind(decorated)
  decorated.onResponseStart = (controller, status, headers, message) => {
    if (status < 200) controller.abort(new Error(`an informational response with the status ${status}`))
    else start?.(controller, status, headers, message)
  }
  return dispatch(options, decorated)
}
