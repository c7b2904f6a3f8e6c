import type { Clock } from '../retry.ts'
import type { RealtimeOptions } from './types.ts'

/** An attempt that is not answered within this is given up. */
const openMs = 10_000
/** A connection on which nothing was heard for this long is asked for a sign of life, and given up without one. */
const quietMs = 30_000

/**
 * What is answered with an error and changes nothing. A page does not see the pings of the API, and a connection of
 * which the other end is lost looks like one on which nothing happens.
 */
const probe = JSON.stringify({ action: 'unsubscribe', resource: { type: 'none', id: '' } })

/** How a connection ended; one that `lasted` was open for a while, so that another one is likely to be. */
export type Ended = {
  readonly code: number
  readonly reason: string
  readonly wasOpen: boolean
  readonly lasted: boolean
}

export type WireOptions = Required<Pick<RealtimeOptions, 'WebSocket'>> & {
  readonly url: string
  readonly protocols: string[]
  readonly clock: Pick<Clock, 'sleep'>
  /** Ends it. */
  readonly signal: AbortSignal
  readonly opened: (send: (text: string) => void) => void
  readonly heard: (data: unknown) => void
}

/**
 * One connection: resolves once it has ended, and calls nobody after that. Rejects where the platform does not even
 * try, as for an address that a page may not connect to.
 */
export const openWire = async ({ WebSocket, url, protocols, ...options }: WireOptions): Promise<Ended> => {
  const socket = new WebSocket(url, protocols)
  const over = new AbortController()
  let settle: (ended: Ended) => void = () => undefined
  const ended = new Promise<Ended>((resolve) => {
    settle = resolve
  })
  let isOpen = false
  let isQuiet = true
  let lasted = false

  const end = (code: number, reason: string): void => {
    if (over.signal.aborted) return
    over.abort()
    options.signal.removeEventListener('abort', stop)
    socket.close()
    settle({ code, reason, wasOpen: isOpen, lasted })
  }
  const stop = (): void => end(1000, 'It was closed here.')
  const send = (text: string): void => {
    if (!over.signal.aborted) socket.send(text)
  }
  const watch = async (): Promise<void> => {
    await options.clock.sleep(openMs, over.signal)
    if (!isOpen) return end(1006, `It was not opened within ${openMs / 1000} s.`)
    lasted = true
    for (let asked = false; !over.signal.aborted; ) {
      isQuiet = true
      await options.clock.sleep(quietMs, over.signal)
      if (isQuiet && asked) return end(1006, `Nothing was heard for ${quietMs / 1000} s.`)
      asked = isQuiet
      if (asked) send(probe)
    }
  }

  socket.addEventListener('open', () => {
    if (over.signal.aborted) return
    isOpen = true
    options.opened(send)
  })
  socket.addEventListener('message', ({ data }) => {
    isQuiet = false
    if (!over.signal.aborted) options.heard(data)
  })
  socket.addEventListener('close', ({ code = 1006, reason = '' }) => end(code, reason))
  // A close follows, which tells as much.
  socket.addEventListener('error', () => undefined)
  options.signal.addEventListener('abort', stop)
  if (options.signal.aborted) stop()
  void watch()
  return ended
}
