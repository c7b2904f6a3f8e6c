import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock, Timer } from '#shared/clock.ts'

/** The limits for reading the rest of a refused body, so that the client can read the response. */
const lingerMs = 1_000
const maxLingers = 10
const minBytesPerLinger = 64 * 1024

const closing = new WeakSet<Socket>()

/**
 * Ends a connection after the current response, which must have `Connection: close`, while the body of the request is
 * still arriving. If it were closed at once, the system could discard the response (RFC 9112, section 9.6), and a client that
 * writes its whole body first would not read it. The connection is therefore half closed first, and at most `maxBytes` more are
 * read. It is destroyed after a second in which less than 64 KiB arrive, and after 10 s. It serves no further request.
 */
export const closeAfterAnswer = ({ socket }: IncomingMessage, maxBytes: number, clock: Clock): void => {
  if (closing.has(socket)) return
  closing.add(socket)
  let isEnding = false
  // The HTTP server calls this after it has written the response.
  socket.destroySoon = () => {
    if (isEnding) return
    isEnding = true
    let bytes = 0
    let bytesBefore = Number.NEGATIVE_INFINITY
    let lingers = 0
    // Replaces the HTTP parser.
    socket.removeAllListeners('data')
    // The parser stops reading while nobody takes the body. Only its own listener of this event starts again, before this one.
    socket.once('resume', () => {
      socket.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > maxBytes) socket.pause()
      })
    })
    socket.pause()
    socket.resume()
    socket.end()
    let timer: Timer | undefined
    const check = (): void => {
      if (bytes - bytesBefore < minBytesPerLinger || lingers === maxLingers) return void socket.destroy()
      bytesBefore = bytes
      lingers += 1
      timer = clock.setTimeout(check, lingerMs)
    }
    socket.on('close', () => timer?.cancel())
    check()
  }
}
