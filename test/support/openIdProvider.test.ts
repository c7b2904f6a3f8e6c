import { expect, test } from 'vitest'
import { issuerIdOf } from '#api/domain/signIn/issuers.ts'
import { anOpenIdProvider } from './openIdProvider.ts'

test('the OpenID provider requires PKCE', async () => {
  const provider = await anOpenIdProvider()
  const redirectUri = `http://127.0.0.1:1/console/?issuer=${issuerIdOf(provider.url)}`
  const request = { client_id: provider.client.id, response_type: 'code', scope: 'openid', redirect_uri: redirectUri }
  const address = await provider.signsIn(`${provider.url}/auth?${new URLSearchParams(request)}`, 'ada')
  await provider.close()
  expect(address.href).toContain(`${redirectUri}&error=invalid_request`)
})
