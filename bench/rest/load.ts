import { Pool } from 'undici'
import { withDefined } from '#shared/optional.ts'

/** A request of a load. */
export type Ask = { readonly method: 'GET' | 'POST' | 'PUT'; readonly path: string; readonly body?: string }

/** The result of a load. */
export type Load = {
  readonly requestsPerSecond: number
  readonly timesMs: number[]
  /** The number of responses with a status other than 200. */
  readonly refused: number
}

/** Sends all requests over `connections` parallel connections. */
export const load = async (options: {
  baseUrl: string
  headers: Record<string, string>
  connections: number
  requests: number
  ask: (at: number) => Ask
}): Promise<Load> => {
  const { baseUrl, headers, connections, requests, ask } = options
  const pool = new Pool(baseUrl, { connections })
  const timesMs: number[] = []
  let refused = 0
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < requests) {
      const { method, path, body } = ask(next)
      next += 1
      const startedMs = performance.now()
      const answer = await pool.request({ method, path, headers, ...withDefined({ body }) })
      await answer.body.dump({ limit: 64 * 1024 * 1024 })
      timesMs.push(performance.now() - startedMs)
      if (answer.statusCode !== 200) refused += 1
    }
  }
  const startedMs = performance.now()
  await Promise.all(Array.from({ length: connections }, worker))
  const seconds = (performance.now() - startedMs) / 1000
  await pool.close()
  return { requestsPerSecond: requests / seconds, timesMs, refused }
}
