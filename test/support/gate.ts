import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/**
 * A gate before a server: bytes pass while it is open, and connections are refused and cut while it is closed. While it is
 * silent, connections stay up, and neither bytes nor the end of a connection pass.
 */
export const createTcpGate = async (target: URL) => {
  const sockets = new Set<Socket>()
  let isOpen = true
  let silent = Promise.resolve()
  let endSilence: (() => void) | undefined
  const server = createServer((near) => {
    if (!isOpen) return near.destroy()
    const far = connect(Number(target.port), target.hostname)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      const end = () => void silent.then(() => to.destroy())
      from.on('error', end)
      from.on('close', () => {
        sockets.delete(from)
        end()
      })
      from.on('data', (bytes) => void silent.then(() => to.writable && to.write(bytes)))
    }
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port,
    /** Cuts what is open; new connections pass. */
    cut,
    close: (): void => {
      isOpen = false
      cut()
    },
    open: (): void => {
      isOpen = true
    },
    /** Starts the silence. Returns a function that ends it. */
    fallSilent: (): (() => void) => {
      silent = new Promise((resolve) => (endSilence = resolve))
      return () => endSilence?.()
    },
    remove: async (): Promise<void> => {
      endSilence?.()
      cut()
      await new Promise((done) => server.close(done))
    },
  }
}

/**
 * A gate before the API server. Returns a kubeconfig that leads through it. TLS goes from end to end, so the gate sees
 * nothing.
 */
export const createGate = async (kubeconfig: string) => {
  const config = JSON.parse(readFileSync(kubeconfig, 'utf8'))
  const { port, close, open, fallSilent, remove } = await createTcpGate(new URL(config.clusters[0].cluster.server))
  config.clusters[0].cluster.server = `https://127.0.0.1:${port}`
  const file = `${kubeconfig}.${port}`
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 })
  return {
    kubeconfig: file,
    close,
    open,
    fallSilent,
    remove: async (): Promise<void> => {
      await remove()
      rmSync(file, { force: true })
    },
  }
}
