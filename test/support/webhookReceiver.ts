import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPki } from '#dev/kubernetes/pki.ts'
import { startDnsServer } from './dnsServer.ts'

/** A request that a receiver got. */
export type Received = {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly body: { type: string; version: number; timestamp: string; data: Record<string, unknown> }
}

/** The name of the receiver, which only its DNS server knows. */
export const receiverHost = 'hooks.example.test'

/**
 * Starts an https server with a certificate of its own authority, and a DNS server that leads to it. `answer` decides the
 * responses by path. `settings` are those of an API that may send to it.
 */
export const startWebhookReceiver = async (
  answer: (path: string, response: ServerResponse) => void = (_, response) => response.end(),
) => {
  const pki = await openPki(mkdtempSync(join(tmpdir(), 'orrery-webhooks-')), Date.now())
  const { certFile, keyFile } = await pki.server('receiver', [receiverHost])
  const received: Received[] = []
  const names = new Map([[receiverHost, '127.0.0.1']])
  const dns = await startDnsServer((name) => names.get(name))
  const server = createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      const path = request.url ?? ''
      received.push({ path, headers: request.headers, text, body: JSON.parse(text) as Received['body'] })
      answer(path, response)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    received,
    /** Addresses by name, as the DNS server answers them. */
    names,
    port,
    urlOf: (path: string, host = receiverHost) => `https://${host}:${port}${path}`,
    of: (path: string) => received.filter((each) => each.path === path),
    settings: {
      ORRERY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32',
      ORRERY_WEBHOOK_CA_FILE: pki.caFile,
      ORRERY_WEBHOOK_DNS_SERVERS: dns.address,
    },
    close: async () => {
      dns.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Reports whether a received request has the signature of a secret, as a receiver verifies it (Standard Webhooks). */
export const hasSignature = ({ headers, text }: Received, secret: string): boolean => {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const expected = `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${text}`).digest('base64')}`
  return String(signatures).split(' ').includes(expected)
}
