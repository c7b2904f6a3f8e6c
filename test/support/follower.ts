import { WebSocket } from 'ws'
import { realtimeUrl, type SocketScope, scopeHeaders } from './socket.ts'

/** The newest known state of a document: `n` of its data, or that it is absent. */
type Known = { readonly version: string; readonly n: number | undefined; readonly isAbsent: boolean }

type FollowerOptions = {
  /** The replicas. Each new connection uses the next one. */
  readonly urls: readonly string[]
  readonly scope: SocketScope
  readonly ids: readonly string[]
  /** The index of the first replica. */
  readonly first: number
  readonly random: () => number
}

/**
 * Creates a client that subscribes to documents, over several connections in turn, and keeps the newest version of
 * each. Faults are recorded in `faults`: a version that is older than the one before, or that is received twice on one
 * connection.
 */
export const createFollower = ({ urls, scope, ids, first, random }: FollowerOptions) => {
  const newest = new Map<string, Known>()
  const faults: string[] = []
  let connections = 0
  let updates = 0
  let ws: WebSocket | undefined
  const receive = (text: string, received: Set<string>): void => {
    const { resource, version, data, warning, error } = JSON.parse(text)
    if (error !== undefined) {
      faults.push(text)
      return
    }
    const { id } = resource
    const before = newest.get(id) ?? { version: '', n: undefined, isAbsent: true }
    if (warning !== undefined) {
      newest.set(id, { ...before, isAbsent: true })
      return
    }
    updates += 1
    if (version < before.version || (version === before.version && received.has(id))) {
      faults.push(`${id} went from ${before.version} to ${version} on connection ${connections}`)
    }
    received.add(id)
    newest.set(id, { version, n: data.config?.n, isAbsent: data.config === undefined })
  }
  const open = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const url = urls[(first + connections) % urls.length] ?? ''
      const headers = scopeHeaders(scope)
      const opened = new WebSocket(realtimeUrl(url), { headers, perMessageDeflate: false, handshakeTimeout: 5_000 })
      const received = new Set<string>()
      opened.on('message', (data) => {
        if (opened === ws) receive(String(data), received)
      })
      opened.once('error', reject)
      opened.once('open', () => {
        opened.on('error', () => undefined)
        connections += 1
        ws = opened
        for (const id of ids) opened.send(JSON.stringify({ action: 'subscribe', resource: { type: 'liveConfig', id } }))
        resolve()
      })
    })
  return {
    ids,
    newest,
    faults,
    updates: (): number => updates,
    connections: (): number => connections,
    /** Terminates the connection. */
    cut: (): void => ws?.terminate(),
    /** Pauses reading for up to two seconds. */
    dawdle: (): void => {
      const slow = ws
      slow?.pause()
      setTimeout(() => slow?.resume(), random() * 2_000)
    },
    /** Connects unless connected, with retries for half a minute. */
    keep: async (): Promise<void> => {
      const deadlineMs = performance.now() + 30_000
      while (ws?.readyState !== WebSocket.OPEN) {
        try {
          await open()
        } catch (error) {
          if (performance.now() > deadlineMs) throw error
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
      }
    },
    close: (): void => ws?.terminate(),
  }
}
export type Follower = ReturnType<typeof createFollower>
