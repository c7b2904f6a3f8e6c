import { Agent } from 'undici'
import type { Credentials, TlsOptions } from './credentials.ts'

const connectTimeoutMs = 10_000
/** Shorter than the idle timeouts of load balancers (60 s and more), which drop a connection without a word. */
const idleConnectionMs = 30_000

/** Connections of one purpose to one server. */
export type Pool = {
  /** The agent for the credentials as they are now. */
  agent(): Promise<Agent>
  /** Breaks off what is under way. */
  destroy(): Promise<void>
}

/**
 * A pool of at most `connections`, HTTP/1.1: one dead HTTP/2 connection would take every stream on it along. Another
 * authority or client certificate makes another agent; the old one ends when its last request has.
 */
export const createPool = (credentials: Credentials, connections: number): Pool => {
  let current: { tls: TlsOptions; agent: Agent } | undefined
  const retired = new Set<Agent>()
  const retire = (agent: Agent): void => {
    retired.add(agent)
    const forget = (): void => void retired.delete(agent)
    agent.close().then(forget, forget)
  }
  return {
    agent: async () => {
      const tls = await credentials.tls()
      if (current?.tls === tls) return current.agent
      if (current !== undefined) retire(current.agent)
      const agent = new Agent({
        connections,
        pipelining: 1,
        allowH2: false,
        keepAliveTimeout: idleConnectionMs,
        // The callers' deadlines and watchdogs bound each request as a whole.
        headersTimeout: 0,
        bodyTimeout: 0,
        connect: { ...tls, timeout: connectTimeoutMs },
      })
      current = { tls, agent }
      return agent
    },
    destroy: async () => {
      const all = [...retired, ...(current === undefined ? [] : [current.agent])]
      await Promise.all(all.map((agent) => agent.destroy()))
    },
  }
}
