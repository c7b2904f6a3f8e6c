import type { Clock } from '../retry.ts'
import type { RealtimeOptions } from './types.ts'

/** The limit of an attempt to connect. */
const openMs = 10_000
/** The default of `quietMs`. */
const defaultQuietMs = 30_000

/**
 * A request that the API answers with an error and that changes nothing. It distinguishes a dead connection from an idle one,
 * because a page does not see pings.
 */
const probe = JSON.stringify({ action: 'unsubscribe', resource: { type: 'none', id: '' } })

/** The end of a connection. `lasted` means that it was open long enough to reset the backoff. */
export type ConnectionEnd = {
  readonly code: number
  readonly reason: string
  readonly wasOpen: boolean
  readonly lasted: boolean
}

export type ConnectionOptions = Required<Pick<RealtimeOptions, 'WebSocket'>> & {
  readonly url: string
  readonly protocols: string[]
  readonly clock: Pick<Clock, 'sleep'>
  /** The silence after which the connection is probed, and the time for the answer. Default: 30,000. */
  readonly quietMs?: number | undefined
  /** Closes the connection. */
  readonly signal: AbortSignal
  readonly onOpen: (send: (text: string) => void) => void
  readonly onMessage: (data: unknown) => void
}

/**
 * Opens a connection and resolves once it has ended; no callback is called after that. Rejects if the platform refuses to
 * try, such as for an address that a page may not connect to.
 */
export const openConnection = async ({
  WebSocket,
  url,
  protocols,
  quietMs = defaultQuietMs,
  ...options
}: ConnectionOptions): Promise<ConnectionEnd> => {
  const socket = new WebSocket(url, protocols)
  const ending = new AbortController()
  let settle: (ended: ConnectionEnd) => void = () => undefined
  const ended = new Promise<ConnectionEnd>((resolve) => {
    settle = resolve
  })
  let isOpen = false
  let isQuiet = true
  let lasted = false

  const end = (code: number, reason: string): void => {
    if (ending.signal.aborted) return
    ending.abort()
    options.signal.removeEventListener('abort', stop)
    socket.close()
    settle({ code, reason, wasOpen: isOpen, lasted })
  }
  const stop = (): void => end(1000, 'The client closed the connection.')
  const send = (text: string): void => {
    if (!ending.signal.aborted) socket.send(text)
  }
  const watchOpening = async (): Promise<void> => {
    await options.clock.sleep(openMs, ending.signal)
    if (!isOpen) end(1006, `The connection did not open within ${openMs / 1000} s.`)
    lasted = true
  }
  const watchSilence = async (): Promise<void> => {
    for (let isProbed = false; !ending.signal.aborted; ) {
      isQuiet = true
      await options.clock.sleep(quietMs, ending.signal)
      if (isQuiet && isProbed) return end(1006, `The connection was silent for ${quietMs / 1000} s.`)
      isProbed = isQuiet
      if (isProbed) send(probe)
    }
  }

  socket.addEventListener('open', () => {
    if (ending.signal.aborted) return
    isOpen = true
    options.onOpen(send)
    void watchSilence()
  })
  socket.addEventListener('message', ({ data }) => {
    isQuiet = false
    if (!ending.signal.aborted) options.onMessage(data)
  })
  socket.addEventListener('close', ({ code = 1006, reason = '' }) => end(code, reason))
  // A close event with the same information follows.
  socket.addEventListener('error', () => undefined)
  options.signal.addEventListener('abort', stop)
  if (options.signal.aborted) stop()
  void watchOpening()
  return ended
}
