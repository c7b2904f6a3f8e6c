import type { Server, Socket } from 'node:net'
import type { Clock, Timer } from '#shared/clock.ts'
import { addCount } from '#shared/counts.ts'
import { addressBlock, plainAddress } from './clientAddress.ts'

/** The maximum numbers of connections of a process and of one client address, or /64 network of IPv6. */
type ConnectionLimits = { readonly connections: number; readonly connectionsPerAddress: number }

type Options = {
  readonly silentMs: number
  readonly clock: Clock
  readonly limits: ConnectionLimits
  /** Reports whether an address is a trusted proxy, which is exempt from the limit per address. */
  readonly isTrusted: (address: string) => boolean
}

/**
 * Passes a connection to the HTTP server only when its first data arrives. An HTTP connection costs 10 KB, and when ten
 * thousand clients reconnect at once, most have sent nothing yet. Closes a connection that sends nothing for `silentMs`.
 * Returns a function that closes all connections that have sent nothing.
 */
export const deferSilentConnections = (
  server: Server,
  { silentMs, clock, limits, isTrusted }: Options,
): (() => void) => {
  const serve = server.listeners('connection')
  server.removeAllListeners('connection')
  /** The connections without data and their start times, in the order of arrival. */
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
  // Shared functions, since a closure per socket would stay in memory with the socket.
  function passToHttp(this: Socket): void {
    if (!silent.delete(this)) return
    this.off('readable', passToHttp)
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
    socket.on('readable', passToHttp)
  })
  return () => {
    timer?.cancel()
    endSilent(Number.POSITIVE_INFINITY)
  }
}

/** Counts open connections. A connection above a limit is closed without a response, since that would cost memory. */
const countConnections = (
  { connections, connectionsPerAddress }: ConnectionLimits,
  isTrusted: Options['isTrusted'],
) => {
  const addresses = new Map<Socket, string>()
  const perAddress = new Map<string, number>()
  function leave(this: Socket): void {
    addCount(perAddress, addresses.get(this) ?? '', -1)
    addresses.delete(this)
  }
  return {
    /** Counts a connection. Closes it and returns false if a limit is reached. */
    enter: (socket: Socket): boolean => {
      const address = plainAddress(socket.remoteAddress ?? '')
      const block = addressBlock(address)
      const count = perAddress.get(block) ?? 0
      if (addresses.size >= connections || (count >= connectionsPerAddress && !isTrusted(address))) {
        socket.destroy()
        return false
      }
      addresses.set(socket, block)
      addCount(perAddress, block, 1)
      socket.on('close', leave)
      return true
    },
  }
}

const ignore = (): void => undefined
