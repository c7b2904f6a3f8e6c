import type { Server, Socket } from 'node:net'
import type { Clock, Timer } from '#shared/clock.ts'
import { plainAddress } from './clientAddress.ts'

/** How many connections a process may have, and how many of them from one address. */
export type ConnectionLimits = { readonly connections: number; readonly connectionsPerAddress: number }

type Options = {
  readonly silentMs: number
  readonly clock: Clock
  readonly limits: ConnectionLimits
  /** Reports whether the limit by address does not hold for an address: many clients come through one proxy. */
  readonly isTrusted: (address: string) => boolean
}

/**
 * Gives a connection to HTTP, which takes 10 KB for it, once its client says something: of ten thousand that come back
 * at once hardly any has spoken when it is accepted. One that says nothing for `silentMs` is ended, which HTTP would do
 * otherwise. Returns what ends all those that have said nothing yet.
 */
export const acceptSpeakers = (server: Server, { silentMs, clock, limits, isTrusted }: Options): (() => void) => {
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
  const counts = countConnections(limits, isTrusted)
  server.on('connection', (socket: Socket) => {
    if (!counts.enter(socket)) return
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

/** Counts connections until they close; one above a limit is ended without an answer, which would cost memory itself. */
const countConnections = (
  { connections, connectionsPerAddress }: ConnectionLimits,
  isTrusted: Options['isTrusted'],
) => {
  const addresses = new Map<Socket, string>()
  const perAddress = new Map<string, number>()
  function leave(this: Socket): void {
    const address = addresses.get(this) ?? ''
    addresses.delete(this)
    const left = (perAddress.get(address) ?? 1) - 1
    if (left === 0) perAddress.delete(address)
    else perAddress.set(address, left)
  }
  return {
    /** Takes a place for a connection; ends it and returns false where there is none. */
    enter: (socket: Socket): boolean => {
      const address = plainAddress(socket.remoteAddress ?? '')
      const count = perAddress.get(address) ?? 0
      if (addresses.size >= connections || (count >= connectionsPerAddress && !isTrusted(address))) {
        socket.destroy()
        return false
      }
      addresses.set(socket, address)
      perAddress.set(address, count + 1)
      socket.on('close', leave)
      return true
    },
  }
}

const ignore = (): void => undefined
