import { toAddress, toSocketUrl } from './realtime/address.ts'
import { backoffMs } from './realtime/backoff.ts'
import { openConnection } from './realtime/connection.ts'
import { RealtimeError, toFinalError } from './realtime/error.ts'
import { parseMessage } from './realtime/message.ts'
import { fetchRefusal } from './realtime/refusal.ts'
import { callGuarded, createRegistry } from './realtime/registry.ts'
import type { Resource } from './realtime/resource.ts'
import type { Realtime, RealtimeOptions, RealtimeState } from './realtime/types.ts'
import { systemClock } from './retry.ts'

export { RealtimeError } from './realtime/error.ts'
export type * from './realtime/resource.ts'
export type * from './realtime/types.ts'

const formatRequest = (action: 'subscribe' | 'unsubscribe', resource: Resource): string =>
  JSON.stringify({ action, resource })

/**
 * Creates a realtime client for browsers and Node. It connects at the first subscription, reconnects after each loss with
 * backoff and full jitter, and then subscribes again, which brings the changes that it missed. An invalid credential or a
 * missing scope ends it for good. Throws a TypeError for options with which it can never connect.
 */
export const createRealtime = (options: RealtimeOptions): Realtime => {
  const { clock = systemClock, random = Math.random, fetch = globalThis.fetch, quietMs } = options
  const { WebSocket = globalThis.WebSocket } = options
  if (WebSocket === undefined) throw new TypeError('This platform has no WebSocket. Pass one in the options.')
  const { url, headers, protocols } = toAddress(options)
  const secrets = [options.apiKey, options.bearerToken].filter((secret) => secret !== undefined)
  const registry = createRegistry()
  const closing = new AbortController()
  const { signal } = closing
  let send: ((text: string) => void) | undefined
  let isRunning = false

  const notify = (state: RealtimeState): void => callGuarded(() => options.onState?.(state))
  const stop = (error: Error, reported: RealtimeError | undefined): void => {
    if (signal.aborted) return
    closing.abort(error)
    notify({ state: 'closed' })
    registry.clear(reported)
  }
  const onOpen = (sendNow: (text: string) => void): void => {
    send = sendNow
    for (const resource of registry.resources()) send(formatRequest('subscribe', resource))
    notify({ state: 'open' })
  }
  const onMessage = (data: unknown): void => {
    const message = parseMessage(data)
    if (message !== undefined) registry.receive(message)
  }
  const connect = async () => {
    notify({ state: 'connecting' })
    try {
      const connection = { url: toSocketUrl(url), protocols, WebSocket, clock, quietMs, signal, onOpen, onMessage }
      return await openConnection(connection)
    } finally {
      send = undefined
    }
  }
  const run = async (): Promise<void> => {
    isRunning = true
    for (let failures = 0; !registry.isEmpty() && !signal.aborted; ) {
      const ended = await connect()
      const { wasOpen } = ended
      const error = wasOpen
        ? toFinalError(ended)
        : await fetchRefusal({ fetch, url: url.href, headers, secrets, signal })
      if (error !== undefined) return stop(error, error)
      if (registry.isEmpty() || signal.aborted) break
      failures = ended.lasted ? 0 : failures + 1
      const delayMs = backoffMs(failures, random())
      notify({ state: 'waiting', delayMs, code: ended.code, reason: ended.reason })
      await clock.sleep(delayMs, signal)
    }
    isRunning = false
    if (!signal.aborted) notify({ state: 'idle' })
  }
  const start = async (): Promise<void> => {
    try {
      await run()
    } catch (cause) {
      const error = new RealtimeError('refused', `The platform refused to connect: ${String(cause)}`)
      stop(error, error)
    }
  }
  return {
    subscribe: (type, id, listener) => {
      if (signal.aborted) throw signal.reason
      const resource = { type, id }
      const { isFirst, remove } = registry.add(resource, listener)
      if (isFirst) send?.(formatRequest('subscribe', resource))
      if (!isRunning) void start()
      return () => {
        if (remove().isLast) send?.(formatRequest('unsubscribe', resource))
      }
    },
    close: () => stop(new Error('This realtime client was closed.'), undefined),
  }
}
