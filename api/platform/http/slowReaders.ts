import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock, Timer } from '#shared/clock.ts'

/** The minimum rate at which a client must read a response, and the time over which it is measured. */
const minBytesPerSecond = 16 * 1024
const windowMs = 30_000
const checkMs = 5_000

/** The bytes of a connection that were sent when its client last read everything, or at the last measurement. */
type Mark = { readonly sentBytes: number; readonly atMs: number }

/**
 * Closes the connections of clients that read too slowly: bytes of a response wait all the time, and less than 16 KiB per second
 * are sent over 30 seconds. Node.js has no such limit, so that a slow client could hold a response in memory for ever.
 */
export const createSlowReaderCheck = (clock: Clock) => {
  const open = new Map<ServerResponse, { readonly socket: Socket; mark: Mark | undefined }>()
  let timer: Timer | undefined
  const check = (): void => {
    const atMs = clock.monotonic()
    for (const each of open.values()) {
      const { socket, mark } = each
      const unsentBytes = socket.writableLength
      const sentBytes = socket.bytesWritten - unsentBytes
      if (unsentBytes === 0) each.mark = undefined
      else if (mark === undefined) each.mark = { sentBytes, atMs }
      else if (atMs - mark.atMs >= windowMs) {
        if (sentBytes - mark.sentBytes < (minBytesPerSecond * (atMs - mark.atMs)) / 1_000) socket.destroy()
        each.mark = { sentBytes, atMs }
      }
    }
    timer = open.size === 0 ? undefined : clock.setTimeout(check, checkMs)
  }
  return {
    /** Watches a response until it is closed. */
    watch: (response: ServerResponse): void => {
      open.set(response, { socket: response.req.socket, mark: undefined })
      response.once('close', () => open.delete(response))
      timer ??= clock.setTimeout(check, checkMs)
    },
    /** Ends the checks. */
    stop: (): void => timer?.cancel(),
  }
}
