import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '#shared/clock.ts'

/** How much of a refused body is read away, and for how long, so that its sender can read the answer. */
const maxLingerBytes = 256 * 1024
const lingerMs = 1_000
const checkMs = 50

const closing = new WeakSet<Socket>()

/** Reports whether a connection was answered for the last time: requests that still come on it are not served. */
export const isClosing = ({ socket }: IncomingMessage): boolean => closing.has(socket)

/**
 * Ends a connection after the present answer, which must bear `Connection: close`, although the body of its request is
 * still coming. To close it at once would make the system drop the answer (RFC 9112, 9.6), so that it is half closed
 * first, and destroyed after a second or 256 KB.
 */
export const closeAfterAnswer = ({ socket }: IncomingMessage, clock: Clock): void => {
  if (closing.has(socket)) return
  closing.add(socket)
  let isEnding = false
  socket.destroySoon = () => {
    if (isEnding) return
    isEnding = true
    const [startMs, startBytes] = [clock.monotonic(), socket.bytesRead]
    const check = (): void => {
      if (socket.destroyed) return
      const isOver = clock.monotonic() - startMs >= lingerMs || socket.bytesRead - startBytes > maxLingerBytes
      if (isOver) socket.destroy()
      else clock.setTimeout(check, checkMs)
    }
    socket.end()
    check()
  }
}
