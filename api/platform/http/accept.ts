import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock, Timer } from '#shared/clock.ts'

type Options = { readonly silentMs: number; readonly clock: Clock }

/**
 * Gives a connection to HTTP, which takes 10 KB for it, once its client says something: of ten thousand that come back
 * at once hardly any has spoken when it is accepted. One that says nothing for `silentMs` is ended, which HTTP would do
 * otherwise. Returns what ends all those that have said nothing yet.
 */
export const acceptSpeakers = (server: Server, { silentMs, clock }: Options): (() => void) => {
  const serve = server.listeners('connection')
  server.removeAllListeners('connection')
  /** Those that have said nothing, since when: in the order in which they came. */
  const silent = new Map<Socket, number>()
  let timer: Timer | undefined
  const endSilent = (beforeMs: number): void => {
    for (const [socket, sinceMs] of silent) {
      if (sinceMs > beforeMs) break
      silent.delete(socket)
      socket.destroy()
    }
  }
  const sweep = (): void => {
    endSilent(clock.monotonic() - silentMs)
    const [oldestMs] = silent.values()
    timer = oldestMs === undefined ? undefined : clock.setTimeout(sweep, oldestMs + silentMs - clock.monotonic())
  }
  // One function for all: what is made beside a socket is kept with it.
  function speak(this: Socket): void {
    if (!silent.delete(this)) return
    this.off('readable', speak)
    this.off('close', forget)
    for (const listener of serve) listener.call(server, this)
    this.off('error', ignore)
  }
  function forget(this: Socket): void {
    silent.delete(this)
  }
  server.on('connection', (socket: Socket) => {
    silent.set(socket, clock.monotonic())
    timer ??= clock.setTimeout(sweep, silentMs)
    socket.on('error', ignore)
    socket.on('close', forget)
    socket.on('readable', speak)
  })
  return () => {
    timer?.cancel()
    endSilent(Number.POSITIVE_INFINITY)
  }
}

const ignore = (): void => undefined
