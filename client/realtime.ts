import { type Access, createAccess } from './realtime/access.ts'
import { toSocketUrl } from './realtime/address.ts'
import { backoffMs } from './realtime/backoff.ts'
import { type ConnectionEnd, openConnection } from './realtime/connection.ts'
import { RealtimeError, toFinalError } from './realtime/error.ts'
import { parseMessage } from './realtime/message.ts'
import { fetchRefusal, type Refusal } from './realtime/refusal.ts'
import { callGuarded, createRegistry } from './realtime/registry.ts'
import type { Resource } from './realtime/resource.ts'
import { fetchTicket } from './realtime/ticket.ts'
import type { Realtime, RealtimeOptions, RealtimeState } from './realtime/types.ts'
import { systemClock } from './retry.ts'

export { RealtimeError } from './realtime/error.ts'
export type * from './realtime/resource.ts'
export type * from './realtime/types.ts'

/** The end of an attempt to connect, with the refusal of the API if there is one, and the access that it had. */
type Ended = ConnectionEnd & { readonly refusal?: Refusal | undefined; readonly access?: Access | undefined }
type Protocols = { readonly protocols?: string[] | undefined; readonly refusal?: Refusal | undefined }

const withoutTicket = { code: 1006, reason: 'The API gave no ticket.', wasOpen: false, lasted: false }
const withoutToken = { ...withoutTicket, reason: 'The options gave no token.' }

// By the time of the request, the API may admit what it refused before, which is 426.
const reasonOf = ({ reason, refusal }: Ended): string =>
  refusal === undefined || refusal.status === 426 ? reason : `The API refused to connect: ${refusal.reason}.`

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
  const source = createAccess(options)
  const needsTicket = options.usesTickets === true || source.needsTickets
  if (needsTicket && fetch === undefined)
    throw new TypeError('This platform has no fetch, which tickets need. Pass one in the options.')
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
  const protocolsOfTicket = async (access: Access): Promise<Protocols> => {
    const ticket = await fetchTicket({ ...access, url: access.ticketUrl, fetch, signal })
    if (typeof ticket === 'string') return { protocols: access.protocolsWith(ticket) }
    if (ticket?.status !== 404) return { refusal: ticket }
    const refusal = await fetchRefusal({ ...access, fetch, signal })
    // A replica of a version without tickets answers like this. It takes the credential, if that fits.
    if (refusal?.status !== 426) return { refusal }
    return { protocols: access.protocols, refusal: { ...ticket, error: undefined } }
  }
  const connect = async (): Promise<Ended> => {
    notify({ state: 'connecting' })
    try {
      const next = source.next()
      // With a fixed credential, the connection begins before this function returns.
      const access: Access | undefined = next instanceof Promise ? await next : next
      if (access === undefined) return withoutToken
      const { protocols, refusal }: Protocols = needsTicket ? await protocolsOfTicket(access) : access
      if (protocols === undefined || signal.aborted) return { ...withoutTicket, refusal, access }
      const url = toSocketUrl(access.url)
      const connection = { url, protocols, WebSocket, clock, quietMs, signal, onOpen, onMessage }
      const ended = await openConnection(connection)
      if (ended.wasOpen) return { ...ended, access }
      return { ...ended, access, refusal: await fetchRefusal({ ...access, fetch, signal }) }
    } finally {
      send = undefined
    }
  }
  /**
   * Returns the error that ends the client, if any, and whether the connection ended with its token, so that the next one needs no wait.
   * Says that the client waits before it asks a source of tokens, which may take long.
   */
  const judge = async (ended: Ended): Promise<{ error: RealtimeError | undefined; isRenewed: boolean }> => {
    const error = ended.wasOpen ? toFinalError(ended) : ended.refusal?.error
    if (error === undefined || ended.access === undefined || !source.mayRenew(error)) return { error, isRenewed: false }
    notify({ state: 'waiting', delayMs: 0, code: ended.code, reason: reasonOf(ended) })
    const hasAnother = await source.hasAnother(ended.access)
    return { error: hasAnother === false ? error : undefined, isRenewed: hasAnother === true && ended.lasted }
  }
  const run = async (): Promise<void> => {
    isRunning = true
    for (let failures = 0; !registry.isEmpty() && !signal.aborted; ) {
      const ended = await connect()
      const { error, isRenewed } = await judge(ended)
      if (error !== undefined) return stop(error, error)
      if (registry.isEmpty() || signal.aborted) break
      failures = ended.lasted ? 0 : failures + 1
      if (isRenewed) continue
      const delayMs = (ended.refusal?.waitMs ?? 0) + backoffMs(failures, random())
      notify({ state: 'waiting', delayMs, code: ended.code, reason: reasonOf(ended) })
      await clock.sleep(delayMs, signal)
    }
    isRunning = false
    if (!signal.aborted) notify({ state: 'idle' })
  }
  const start = (): Promise<void> =>
    run().catch((cause: unknown) => {
      const error = new RealtimeError('refused', `The platform refused to connect: ${String(cause)}`)
      stop(error, error)
    })
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
