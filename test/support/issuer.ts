import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWK } from 'jose'

/** A signing key of an issuer. */
export type Pair = { kid: string; privateKey: CryptoKey; publicKey: CryptoKey; jwk: JWK }

/** Generates a signing key. */
export const aPair = async (kid: string, alg = 'RS256'): Promise<Pair> => {
  const pair = await generateKeyPair(alg, { extractable: true })
  return { kid, ...pair, jwk: { ...(await exportJWK(pair.publicKey)), kid, alg, use: 'sig' } }
}

/** Starts an external issuer. The test sets its key set and can make it unavailable. */
export const anIssuer = async () => {
  let keys: JWK[] = []
  let asked = 0
  let away = false
  const server = createServer((_, response) => {
    asked += 1
    if (away) response.destroy()
    else response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`,
    shows: (...pairs: Pair[]) => {
      keys = pairs.map(({ jwk }) => jwk)
    },
    goesAway: () => {
      away = true
    },
    asked: () => asked,
    close: () => new Promise((resolve) => server.close(resolve)),
  }
}
