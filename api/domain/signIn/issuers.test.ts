import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '#shared/clock.ts'
import { createLog } from '#shared/log.ts'
import { createSignIns } from './issuers.ts'

const log = createLog({ name: 'test', level: 'silent' })
const anEntry = (issuer: string) => ({
  issuer,
  audience: 'orrery',
  jwksUrl: `${issuer}/jwks`,
  organizations: ['*'],
  groupsClaim: 'groups',
  signIn: { name: 'Example', clientId: 'console', scopes: ['openid'], token: 'access' as const },
})

test('each issuer has its own redirect URIs, at the origins of the console', () => {
  const issuers = ['https://id.example.com', 'https://id.example.com/'].map(anEntry)
  const consoles = ['https://API.example.com:443/', 'http://127.0.0.1:4321']
  const [first, second] = createSignIns(issuers, consoles, { clock: systemClock, log }).values()
  // The first digits of `printf %s https://id.example.com | sha256sum`.
  const id = '3d38e146cf9fbc8cec9ac1a3'
  expect(first?.redirectUris).toEqual([
    `https://api.example.com/console/?issuer=${id}`,
    `http://127.0.0.1:4321/console/?issuer=${id}`,
  ])
  expect(second?.id).not.toBe(id)
})

/** Starts an issuer that answers no request for a token. Returns its URL, and the number of these requests. */
const aHangingIssuer = async () => {
  let asked = 0
  const server = createServer((request, response) => {
    if (request.url === '/token') asked += 1
    else response.setHeader('content-type', 'application/json').end(JSON.stringify(document))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => server.closeAllConnections())
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const document = { issuer: url, authorization_endpoint: `${url}/auth`, token_endpoint: `${url}/token` }
  return { url, asked: () => asked }
}

test('an issuer that hangs does not delay calls to another one', async () => {
  const issuers = await Promise.all([aHangingIssuer(), aHangingIssuer()])
  const entries = issuers.map(({ url }) => anEntry(url))
  const signIns = createSignIns(entries, [], { clock: systemClock, log })
  for (const { url, asked } of issuers) {
    for (let count = 0; count < 20; count += 1)
      signIns
        .get(url)
        ?.client.refresh('r')
        .catch(() => undefined)
    await expect.poll(asked).toBe(16)
  }
})
