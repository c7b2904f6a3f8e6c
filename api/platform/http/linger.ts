import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '#shared/clock.ts'

/** Limits for reading the rest of a refused body, so that the client can read the response. */
const maxLingerBytes = 256 * 1024
const lingerMs = 1_000

const closing = new WeakSet<Socket>()

/**
 * Ends a connection after the present answer, which must bear `Connection: close`, although the body of its request is
 * still coming. To close it at once would make the system drop the answer (RFC 9112, 9.6), so that it is half closed
 * first, at most 256 KB more are read, and it is destroyed after a second. No further request is read from it.
 */
export const closeAfterAnswer = ({ socket }: IncomingMessage, clock: Clock): void => {
  if (closing.has(socket)) return
  closing.add(socket)
  let isEnding = false
  // The HTTP server calls this once it has written the answer.
  socket.destroySoon = () => {
    if (isEnding) return
    isEnding = true
    let bytes = 0
    // In place of the parser.
    socket.removeAllListeners('data')
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > maxLingerBytes) socket.pause()
    })
    socket.end()
    const timer = clock.setTimeout(() => socket.destroy(), lingerMs)
    socket.on('close', () => timer.cancel())
  }
}
