import { setTimeout as delay } from 'node:timers/promises'
import { WebSocket } from 'ws'

/** The requests and connections of a time of load. */
export type LoadReport = {
  readonly requests: number
  /** A sentence for each request that failed, and for each connection that could not be made or was cut. */
  readonly faults: readonly string[]
  /** The connections that the server closed with code 1012, which asks clients to connect again. */
  readonly reconnects: number
}

type LoadOptions = {
  readonly apiUrl: string
  readonly headers: Readonly<Record<string, string>>
  /** The paths that are read in turn. */
  readonly paths: readonly string[]
  /** The world that is renamed in turn with the reads. */
  readonly worldPath: string
  readonly sockets: number
}

const workers = 4
const pauseMs = 25
const reconnectTimeoutMs = 60_000
const serviceRestart = 1012
const maxFaults = 20

/** Reads and writes over REST, and keeps connections open, until `stop`. Nothing is retried but a closed connection. */
export const startLoad = async ({ apiUrl, headers, paths, worldPath, sockets }: LoadOptions) => {
  const stopping = new AbortController()
  const faults: string[] = []
  let requests = 0
  let reconnects = 0
  const fail = (what: string, error: unknown): void => {
    const cause = error instanceof Error ? (error.cause ?? error) : error
    if (faults.length < maxFaults) faults.push(`${new Date().toISOString()} ${what}: ${cause}`)
  }

  const request = async (worker: number): Promise<void> => {
    const path = paths[requests % paths.length] ?? ''
    const isWrite = requests % 5 === 0
    requests += 1
    const what = isWrite ? `PATCH ${worldPath}` : `GET ${path}`
    try {
      const response = await fetch(`${apiUrl}${isWrite ? worldPath : path}`, {
        // Half of the workers keep their connections, as proxies do.
        headers: { ...headers, ...(worker % 2 === 0 && { connection: 'close' }), 'content-type': 'application/json' },
        signal: AbortSignal.timeout(15_000),
        ...(isWrite && { method: 'PATCH', body: JSON.stringify({ description: `write ${requests}` }) }),
      })
      const text = await response.text()
      if (!response.ok) fail(what, `${response.status} ${text}`)
    } catch (error) {
      fail(what, error)
    }
  }
  const work = async (worker: number): Promise<void> => {
    while (!stopping.signal.aborted) {
      await request(worker)
      await delay(pauseMs)
    }
  }

  const open = new Set<WebSocket>()
  const connect = (): Promise<void> =>
    new Promise((resolve) => {
      const ws = new WebSocket(`${apiUrl.replace(/^http/, 'ws')}/api/realtime/connect/`, { headers })
      ws.on('open', () => {
        open.add(ws)
        resolve()
      })
      ws.on('error', (error) => {
        fail('WebSocket', error)
        resolve()
      })
      ws.on('close', (code, reason) => {
        if (!open.delete(ws) || stopping.signal.aborted) return
        if (code !== serviceRestart) fail('WebSocket', `closed with ${code} ${reason}`)
        else reconnects += 1
        void connect()
      })
    })
  await Promise.all(Array.from({ length: sockets }, connect))
  const working = Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)))

  return {
    /** Waits until every connection was closed by the server and is open again, or a fault or the time limit ends it. */
    untilReconnected: async (): Promise<void> => {
      const deadlineMs = performance.now() + reconnectTimeoutMs
      const isDone = (): boolean => open.size === sockets && reconnects >= sockets
      while (!isDone() && faults.length === 0 && performance.now() < deadlineMs) await delay(pauseMs)
    },
    /** Returns the number of open connections. */
    openSockets: (): number => open.size,
    stop: async (): Promise<LoadReport> => {
      stopping.abort()
      await working
      for (const ws of open) ws.terminate()
      return { requests, faults, reconnects }
    },
  }
}
