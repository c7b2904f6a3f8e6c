import { WebSocket } from 'ws'
import { realtimeUrl, type SocketScope, scopeHeaders } from './socket.ts'

/** The newest that a follower knows of a document: `n` of its data, or that there is no document. */
type Known = { readonly version: string; readonly n: number | undefined; readonly isAbsent: boolean }

type FollowerOptions = {
  /** The replicas; each connection goes to another one. */
  readonly urls: readonly string[]
  readonly scope: SocketScope
  readonly ids: readonly string[]
  /** Which replica comes first. */
  readonly first: number
  readonly random: () => number
}

/**
 * Follows documents over one connection after another, and keeps the newest version of each alone. What must never be is
 * kept in `faults`: a version that is older than one before, or that is told twice on one connection.
 */
export const aFollower = ({ urls, scope, ids, first, random }: FollowerOptions) => {
  const newest = new Map<string, Known>()
  const faults: string[] = []
  let connections = 0
  let updates = 0
  let ws: WebSocket | undefined
  const take = (text: string, told: Set<string>): void => {
    const { resource, version, data, warning, error } = JSON.parse(text)
    if (error !== undefined) faults.push(text)
    const { id } = resource
    const before = newest.get(id) ?? { version: '', n: undefined, isAbsent: true }
    if (warning !== undefined) {
      newest.set(id, { ...before, isAbsent: true })
      return
    }
    updates += 1
    if (version < before.version || (version === before.version && told.has(id))) {
      faults.push(`${id} went from ${before.version} to ${version} on connection ${connections}`)
    }
    told.add(id)
    newest.set(id, { version, n: data.config?.n, isAbsent: data.config === undefined })
  }
  const open = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const url = urls[(first + connections) % urls.length] ?? ''
      const headers = scopeHeaders(scope)
      const opened = new WebSocket(realtimeUrl(url), { headers, perMessageDeflate: false, handshakeTimeout: 5_000 })
      const told = new Set<string>()
      opened.on('message', (data) => {
        if (opened === ws) take(String(data), told)
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
    /** Loses the connection. */
    cut: (): void => ws?.terminate(),
    /** Reads nothing for a while. */
    dawdle: (): void => {
      const slow = ws
      slow?.pause()
      setTimeout(() => slow?.resume(), random() * 2_000)
    },
    /** Has a connection; tries for half a minute. */
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
export type Follower = ReturnType<typeof aFollower>
