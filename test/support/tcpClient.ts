import { connect, type Socket, type TcpNetConnectOpts } from 'node:net'

/** A connection, with the text that arrived on it, and whether it has ended. */
export type TcpClient = { readonly socket: Socket; readonly seen: { text: string; closed: boolean } }

/** Opens a connection. Its errors only end it. */
export const dial = (to: TcpNetConnectOpts): TcpClient => {
  const socket = connect(to)
  const seen = { text: '', closed: false }
  socket.on('error', () => undefined)
  socket.on('data', (data) => {
    seen.text += data.toString()
  })
  socket.on('close', () => {
    seen.closed = true
  })
  return { socket, seen }
}
