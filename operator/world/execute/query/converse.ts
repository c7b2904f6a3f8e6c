import type { ServerAnswer } from '../../query/answer.ts'
import { type Exchange, maxAnswerBytes, type Next } from '../../query/exchange.ts'

/** The address of a server. `host` is an IP address. */
export type Address = { readonly host: string; readonly port: number }

/** A socket that has not begun to connect. `close` may be called in any state. */
export type Line = {
  connect(): void
  send(packet: Uint8Array): void
  close(): void
}

/** The events of a line. Those after `close` have no effect. */
export type LineEvents = {
  connected(): void
  received(bytes: Uint8Array): void
  /** The line is of no more use: an error, or the end of the connection. */
  ended(): void
}

/**
 * Asks one question over a line. Resolves to undefined when the line ends, when the signal aborts, and after `maxReads` reads or
 * `maxAnswerBytes` without an answer. Closes the line in every case. Never rejects, whatever the server sends.
 */
export const converse = (
  exchange: Exchange,
  signal: AbortSignal,
  { open, maxReads }: { open: (events: LineEvents) => Line; maxReads: number },
): Promise<ServerAnswer | undefined> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve(undefined)
    let isSettled = false
    let reads = 0
    let bytes = 0
    const settle = (answer?: ServerAnswer): void => {
      if (isSettled) return
      isSettled = true
      signal.removeEventListener('abort', abort)
      line.close()
      resolve(answer)
    }
    const abort = (): void => settle()
    const attempt = (act: () => void): void => {
      try {
        if (!isSettled) act()
      } catch {
        settle()
      }
    }
    const receive = (received: Uint8Array): void => {
      reads += 1
      bytes += received.length
      // An empty datagram is no answer.
      const next: Next = received.length === 0 ? { kind: 'more' } : exchange.receive(received)
      if (next.kind === 'report' || next.kind === 'fault') settle(next)
      else if (reads >= maxReads || bytes >= maxAnswerBytes) settle()
      else if (next.kind === 'send') line.send(next.packet)
    }
    const line = open({
      connected: () => attempt(() => line.send(exchange.packet)),
      received: (received) => attempt(() => receive(received)),
      ended: () => settle(),
    })
    signal.addEventListener('abort', abort)
    attempt(line.connect)
  })
