import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK } from 'jose'
import Provider, { type Configuration } from 'oidc-provider'
import { clockToleranceSeconds } from '#api/domain/access/token.ts'
import { issuerIdOf } from '#api/domain/signIn/issuers.ts'
import { aPair } from './issuer.ts'

/** The claims of a user: `organization_id`, and at most `permissions`, `groups` and others. */
type Claims = Readonly<Record<string, unknown>>

const claimNames = ['organization_id', 'permissions', 'groups', 'name']
const resource = 'https://orrery.example.com'

/**
 * Starts an OpenID provider with one client and no users. It requires PKCE, redirects to its redirect URI on any port of the loopback
 * interface, and issues refresh tokens that can be used once. Its login page has one field, `Login`, and the button `Continue`;
 * an unknown login is `access_denied`. Access tokens are JWTs with the claims of the user, or opaque ones.
 */
export const anOpenIdProvider = async ({ accessTokens = 'jwt' as 'jwt' | 'opaque' } = {}) => {
  const users = new Map<string, Claims>()
  const client = { id: 'console', secret: 'secret-of-the-console-client' }
  const audience = 'orrery'
  let tokenSeconds = 3_600
  let isAway = false
  let tokenRequests = 0
  const { privateKey, jwk } = await aPair('k1')
  const server = createServer((request, response) => {
    if (request.url === '/token') tokenRequests += 1
    if (isAway) response.destroy()
    else handle(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const grantAll: Configuration['loadExistingGrant'] = async ({ oidc }) => {
    const grant = new provider.Grant({ clientId: client.id, accountId: oidc.session?.accountId ?? '' })
    grant.addOIDCScope('openid offline_access')
    grant.addResourceScope(resource, 'worlds')
    await grant.save()
    return grant
  }
  const provider = new Provider(url, {
    jwks: { keys: [{ ...jwk, ...(await exportJWK(privateKey)) }] },
    cookies: { keys: ['a-key-of-the-cookies'] },
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        redirect_uris: ['http://127.0.0.1/console/'],
        grant_types: ['authorization_code', 'refresh_token'],
      },
    ],
    claims: { openid: ['sub', ...claimNames] },
    // ID tokens have the claims of the user as well.
    conformIdTokenClaims: false,
    findAccount: (_, accountId) => {
      const claims = users.get(accountId)
      return claims && { accountId, claims: () => ({ ...claims, sub: accountId }) }
    },
    extraTokenClaims: (_, token) => ('accountId' in token ? { ...users.get(token.accountId) } : {}),
    formats: {
      customizers: {
        jwt: (_ctx, _token, { payload }) => {
          payload.exp = Math.floor(Date.now() / 1_000) + tokenSeconds - clockToleranceSeconds
        },
      },
    },
    features: {
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: accessTokens === 'jwt',
        defaultResource: () => resource,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({ scope: 'worlds', audience, accessTokenFormat: 'jwt' }),
      },
    },
    issueRefreshToken: () => true,
    rotateRefreshToken: true,
    loadExistingGrant: grantAll,
    pkce: { required: () => true },
    ttl: { AccessToken: 3_600, Grant: 3_600, IdToken: 3_600, Interaction: 600, RefreshToken: 3_600, Session: 3_600 },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
  })
  provider.Client.prototype.redirectUriAllowed = (uri: string) =>
    /^http:\/\/127\.0\.0\.1:\d+\/console\/\?issuer=(\w+)$/.exec(uri)?.[1] === issuerIdOf(url)
  const answer = provider.callback()

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.url?.startsWith('/interaction/') !== true) return answer(request, response)
    if (request.method === 'GET') {
      response.setHeader('content-type', 'text/html; charset=utf-8').end(loginPage)
      return
    }
    const body = Buffer.concat(await Array.fromAsync(request)).toString()
    const accountId = new URLSearchParams(body).get('login') ?? ''
    const refusal = { error: 'access_denied', error_description: 'The login is unknown.' }
    await provider.interactionFinished(request, response, users.has(accountId) ? { login: { accountId } } : refusal)
  }

  return {
    /** The issuer of its tokens. */
    url,
    client,
    /** The audience of its access tokens. That of its ID tokens is the id of the client. */
    audience,
    /** Returns its entry of `ORRERY_JWT_ISSUERS_FILE`, with fields of `signIn` replaced. */
    entry: (signIn: Readonly<Record<string, unknown>> = {}) => ({
      issuer: url,
      audience: signIn.token === 'id' ? client.id : audience,
      jwksUrl: `${url}/jwks`,
      organizations: ['*'],
      signIn: { name: 'Example', clientId: client.id, clientSecret: client.secret, ...signIn },
    }),
    /** Adds a user, or replaces the claims of one. */
    hasUser: (login: string, claims: Claims): void => {
      users.set(login, claims)
    },
    /** Removes a user. Refresh tokens of the user are then refused. */
    forgets: (login: string): void => {
      users.delete(login)
    },
    /** Sets how long the API accepts each further access token, the tolerated difference of the clocks included. */
    issuesTokensFor: (seconds: number): void => {
      tokenSeconds = seconds
    },
    /** Closes each connection without an answer, until it comes back. */
    goesAway: (): void => {
      isAway = true
    },
    comesBack: (): void => {
      isAway = false
    },
    /** Returns the number of requests for tokens. */
    tokenRequests: (): number => tokenRequests,
    /** Signs a user in as a browser does, from the address of a sign-in request. Returns the address to which it is redirected. */
    signsIn: (address: string, login: string): Promise<URL> => signIn(url, address, login),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(resolve)
      }),
  }
}

const loginPage = `<!doctype html><html lang="en"><title>Example sign-in</title>
<form method="post"><label>Login <input name="login" autocomplete="username"></label><button>Continue</button></form></html>`

/** The most requests of one sign-in. */
const maxSteps = 10

const signIn = async (provider: string, address: string, login: string): Promise<URL> => {
  const cookies = new Map<string, string>()
  let url = new URL(address)
  let form: URLSearchParams | undefined
  for (let step = 0; step < maxSteps; step++) {
    if (url.origin !== provider) return url
    const cookie = [...cookies].map((each) => each.join('=')).join('; ')
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie },
      ...(form && { method: 'POST', body: form }),
    })
    for (const each of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (each.split(';')[0] ?? '').split(/=(.*)/)
      cookies.set(name, value)
    }
    const location = response.headers.get('location')
    const text = await response.text()
    if (location === null && !text.includes('<form')) throw new Error(`${url.pathname}: ${response.status} ${text}`)
    form = location === null ? new URLSearchParams({ login }) : undefined
    if (location !== null) url = new URL(location, url)
  }
  throw new Error(`The sign-in took more than ${maxSteps} requests.`)
}
