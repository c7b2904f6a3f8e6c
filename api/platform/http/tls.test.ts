import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, get } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { afterEach, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { openPki } from '#dev/kubernetes/pki.ts'
import { createLog } from '#shared/log.ts'
import { readTls, reloadTls } from '#shared/tls.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { eventually } from '#test/support/wait.ts'
import { deferSilentConnections } from './accept.ts'

const ended: (() => void)[] = []
afterEach(() => {
  for (const end of ended.splice(0)) end()
})

/** A folder like the volume of a Kubernetes Secret: `tls.crt` and `tls.key` lead through the symlink `..data`. */
const createVolume = async () => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-tls-'))
  ended.push(() => rmSync(dir, { recursive: true }))
  const pki = await openPki(join(dir, 'pki'), Date.now())
  const put = async (name: string): Promise<void> => {
    const { certFile, keyFile } = await pki.server(name, ['localhost', '127.0.0.1'])
    mkdirSync(join(dir, name))
    writeFileSync(join(dir, name, 'tls.crt'), readFileSync(certFile))
    writeFileSync(join(dir, name, 'tls.key'), readFileSync(keyFile))
    symlinkSync(name, join(dir, '..data.new'))
    renameSync(join(dir, '..data.new'), join(dir, '..data'))
  }
  await put('first')
  for (const file of ['tls.crt', 'tls.key']) symlinkSync(join('..data', file), join(dir, file))
  const files = { certFile: join(dir, 'tls.crt'), keyFile: join(dir, 'tls.key') }
  return { put, files, ca: readFileSync(pki.caFile) }
}

const startServer = async () => {
  const volume = await createVolume()
  const clock = createFakeClock(0)
  const present = await readTls(volume.files)
  const server = createServer(present, (_, response) => response.end('hello'))
  const limits = { connections: 10, connectionsPerAddress: 10 }
  ended.push(deferSilentConnections(server, { silentMs: 15_000, clock, limits, isTrusted: () => false }))
  const log = createLog({ name: 'test', level: 'silent' })
  ended.push(reloadTls(server, { files: volume.files, present, clock, log }))
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  ended.push(() => server.close().closeAllConnections())
  const { port } = server.address() as AddressInfo
  /** The name in the certificate that a new connection gets. */
  const servedName = () =>
    new Promise<string>((resolve, reject) => {
      get({ port, host: '127.0.0.1', ca: volume.ca, agent: false }, (response) => {
        resolve(String((response.socket as TLSSocket).getPeerCertificate().subject.CN))
        response.resume()
      }).on('error', reject)
    })
  return { ...volume, clock, server, port, servedName }
}

test('serves the certificate of its files, and a new one after the volume is updated', async () => {
  const { servedName, put, clock } = await startServer()
  expect(await servedName()).toBe('first')
  await put('second')
  clock.advance(10_000)
  await eventually('the new certificate', async () => (await servedName()) === 'second')
})

test('keeps the last certificate while the files are invalid', async () => {
  const { servedName, files, put, clock } = await startServer()
  writeFileSync(files.certFile, 'half a certifica')
  clock.advance(10_000)
  expect(await servedName()).toBe('first')
  await put('third')
  await eventually('the next good certificate', async () => {
    clock.advance(10_000)
    return (await servedName()) === 'third'
  })
})

test('carries WebSockets', async () => {
  const { server, port, ca } = await startServer()
  const sockets = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request, socket, head) =>
    sockets.handleUpgrade(request, socket, head, (ws) => ws.on('message', (data) => ws.send(data))),
  )
  const client = new WebSocket(`wss://127.0.0.1:${port}/`, { ca })
  const echoed = await new Promise((resolve, reject) => {
    client.on('open', () => client.send('hello'))
    client.on('message', (data) => resolve(data.toString()))
    client.on('error', reject)
  })
  expect(echoed).toBe('hello')
  client.terminate()
})

test('rejects a key that does not match the certificate, and names both files', async () => {
  const { files, put } = await createVolume()
  const key = readFileSync(files.keyFile)
  await put('other')
  writeFileSync(files.keyFile, key)
  await expect(readTls(files)).rejects.toThrow(files.keyFile)
})
