import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '#shared/clock.ts'

/** Limits for reading the rest of a refused body, so that the client can read the response. */
const maxLingerBytes = 256 * 1024
const lingerMs = 1_000

const closing = new WeakSet<Socket>()

/**
 * Ends a connection after the current response, which must have `Connection: close`, while the body of the request is
 * still arriving. If it were closed at once, the system could discard the response (RFC 9112, section 9.6). It is therefore
 * half closed first, at most 256 KiB more are read, and it is destroyed after a second. It serves no further request.
 */
export const closeAfterAnswer = ({ socket }: IncomingMessage, clock: Clock): void => {
  if (closing.has(socket)) return
  closing.add(socket)
  let isEnding = false
  // The HTTP server calls this after it has written the response.
  socket.destroySoon = () => {
    if (isEnding) return
    isEnding = true
    let bytes = 0
    // Replaces the HTTP parser.
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
