import { addressOf, socketUrl } from './realtime/address.ts'
import { backoffMs } from './realtime/backoff.ts'
import { finalError, RealtimeError } from './realtime/error.ts'
import { readNews } from './realtime/message.ts'
import { refusalOf } from './realtime/refusal.ts'
import { createRegistry, guarded } from './realtime/registry.ts'
import type { Resource } from './realtime/resource.ts'
import type { Realtime, RealtimeOptions, RealtimeState } from './realtime/types.ts'
import { openWire } from './realtime/wire.ts'
import { systemClock } from './retry.ts'

export { RealtimeError } from './realtime/error.ts'
export type * from './realtime/resource.ts'
export type * from './realtime/types.ts'

const asking = (action: 'subscribe' | 'unsubscribe', resource: Resource): string => JSON.stringify({ action, resource })

/**
 * A client of the changes, for browsers and Node. It connects when something is followed, again after each loss, with
 * full jitter and a bound, and then follows everything anew, which brings what was missed. Credentials that are not valid,
 * and scopes that are not there, end it for good. Throws a TypeError for options with which it could never connect.
 */
export const createRealtime = (options: RealtimeOptions): Realtime => {
  const { clock = systemClock, random = Math.random, fetch = globalThis.fetch } = options
  const { WebSocket = globalThis.WebSocket } = options
  if (WebSocket === undefined) throw new TypeError('There is no WebSocket on this platform; give one in the options.')
  const { url, headers, protocols } = addressOf(options)
  const secrets = [options.apiKey, options.bearerToken].filter((secret) => secret !== undefined)
  const registry = createRegistry()
  const closing = new AbortController()
  const { signal } = closing
  let send: ((text: string) => void) | undefined
  let isRunning = false

  const tell = (state: RealtimeState): void => guarded(() => options.onState?.(state))
  const stop = (error: Error, told: RealtimeError | undefined): void => {
    if (signal.aborted) return
    closing.abort(error)
    tell({ state: 'closed' })
    registry.clear(told)
  }
  const opened = (sendNow: (text: string) => void): void => {
    send = sendNow
    for (const resource of registry.resources()) send(asking('subscribe', resource))
    tell({ state: 'open' })
  }
  const heard = (data: unknown): void => {
    const news = readNews(data)
    if (news !== undefined) registry.take(news)
  }
  const connect = async () => {
    tell({ state: 'connecting' })
    try {
      return await openWire({ url: socketUrl(url), protocols, WebSocket, clock, signal, opened, heard })
    } finally {
      send = undefined
    }
  }
  const run = async (): Promise<void> => {
    isRunning = true
    for (let failures = 0; !registry.isEmpty() && !signal.aborted; ) {
      const ended = await connect()
      const { wasOpen } = ended
      const error = wasOpen ? finalError(ended) : await refusalOf({ fetch, url: url.href, headers, secrets, signal })
      if (error !== undefined) return stop(error, error)
      if (registry.isEmpty() || signal.aborted) break
      failures = ended.lasted ? 0 : failures + 1
      const delayMs = backoffMs(failures, random())
      tell({ state: 'waiting', delayMs, code: ended.code, reason: ended.reason })
      await clock.sleep(delayMs, signal)
    }
    isRunning = false
    if (!signal.aborted) tell({ state: 'idle' })
  }
  const start = async (): Promise<void> => {
    try {
      await run()
    } catch (cause) {
      const error = new RealtimeError('refused', `This platform does not connect: ${String(cause)}`)
      stop(error, error)
    }
  }
  return {
    subscribe: (type, id, listener) => {
      if (signal.aborted) throw signal.reason
      const resource = { type, id }
      const { isFirst, remove } = registry.add(resource, listener)
      if (isFirst) send?.(asking('subscribe', resource))
      if (!isRunning) void start()
      return () => {
        if (remove().isLast) send?.(asking('unsubscribe', resource))
      }
    },
    close: () => stop(new Error('This realtime client was closed.'), undefined),
  }
}
