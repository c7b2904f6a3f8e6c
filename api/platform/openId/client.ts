import * as oauth from 'oauth4webapi'
import type { RunInShare } from '#api/platform/fairness/shares.ts'
import { Problem } from '#api/platform/http/problem.ts'
import type { Clock } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'
import { withDefined } from '#shared/optional.ts'
import { createDiscovery } from './discovery.ts'
import { createIssuerFetch, issuerUnavailable } from './issuerFetch.ts'

/** A client that is registered at an OpenID Connect issuer. */
export type OpenIdRegistration = {
  readonly issuer: string
  readonly clientId: string
  /** Absent for a public client. */
  readonly clientSecret?: string | undefined
  readonly scopes: readonly string[]
}

/** A request for a code (OpenID Connect Core 1.0, section 3.1.2.1) with a challenge of the method S256 (RFC 7636). */
type CodeRequest = {
  readonly redirectUri: string
  readonly state: string
  readonly nonce: string
  readonly codeChallenge: string
}

/** A code with which a browser returned. `iss` is that of its address (RFC 9207). */
type ReturnedCode = {
  readonly redirectUri: string
  readonly code: string
  readonly iss?: string | undefined
  readonly codeVerifier: string
  readonly nonce: string
}

/** The tokens of an answer of an issuer. They are secrets. */
export type OpenIdTokens = {
  readonly accessToken: string
  readonly idToken: string | undefined
  readonly refreshToken: string | undefined
}

/** A client of one issuer. */
export type OpenIdClient = ReturnType<typeof createOpenIdClient>

/**
 * Creates a client of an issuer. Its calls run in the share of the issuer. They throw a 503 if the issuer does not answer or refuses
 * the client, or its configuration is invalid, and a 401 for a code or a token that it refuses, and for an answer that fails a check.
 * No problem contains a token, and none has one in its cause.
 */
export const createOpenIdClient = (
  registration: OpenIdRegistration,
  { clock, log, runInShare }: { readonly clock: Clock; readonly log: Log; readonly runInShare: RunInShare },
) => {
  const { issuer, clientId, clientSecret, scopes } = registration
  const fetch = createIssuerFetch(issuer, clock)
  const discover = createDiscovery(issuer, { clock, log, fetch })
  // The endpoints are checked by discovery, which permits http on loopback.
  const options = { [oauth.customFetch]: fetch, [oauth.allowInsecureRequests]: true } as const
  const ask = async (
    call: (server: oauth.AuthorizationServer, client: oauth.Client) => Promise<oauth.TokenEndpointResponse>,
  ): Promise<OpenIdTokens> => {
    const server = await discover()
    // The library reads the time of the system, and tolerates 30 s.
    const skewSeconds = Math.round((clock.now() - Date.now()) / 1_000)
    const client = { client_id: clientId, [oauth.clockSkew]: skewSeconds }
    const refuse = () => issuerUnavailable('Too many requests to the issuer are in progress.')
    const tokens = await runInShare(issuer, () => call(server, client).catch(refuseFor(issuer)), refuse)
    if (tokens.token_type !== 'bearer') throw refusal('The issuer answers with tokens that are not Bearer tokens.')
    return { accessToken: tokens.access_token, idToken: tokens.id_token, refreshToken: tokens.refresh_token }
  }
  return {
    /** Returns the address at which the issuer signs a person in. */
    authorizationUrl: async ({ redirectUri, state, nonce, codeChallenge }: CodeRequest): Promise<string> => {
      const { authorization_endpoint: endpoint = '' } = await discover()
      const url = new URL(endpoint)
      const parameters = {
        client_id: clientId,
        response_type: 'code',
        scope: scopes.join(' '),
        redirect_uri: redirectUri,
        state,
        nonce,
        code_challenge: codeChallenge,
        code_challenge_method: 'S256',
      }
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
      return url.href
    },
    /** Exchanges a code for tokens. Checks the issuer of the address, and the claims and the nonce of the ID token. */
    exchange: ({ redirectUri, code, iss, codeVerifier, nonce }: ReturnedCode): Promise<OpenIdTokens> =>
      ask(async (server, client) => {
        const given = new URLSearchParams({ code, ...withDefined({ iss }) })
        const returned = oauth.validateAuthResponse(server, client, given, oauth.expectNoState)
        const auth = authOf(server, clientSecret)
        const response = await oauth.authorizationCodeGrantRequest(
          server,
          client,
          auth,
          returned,
          redirectUri,
          codeVerifier,
          options,
        )
        return oauth.processAuthorizationCodeResponse(server, client, response, { expectedNonce: nonce })
      }),
    /** Exchanges a refresh token for tokens. */
    refresh: (refreshToken: string): Promise<OpenIdTokens> =>
      ask(async (server, client) => {
        const auth = authOf(server, clientSecret)
        const response = await oauth.refreshTokenGrantRequest(server, client, auth, refreshToken, options)
        return oauth.processRefreshTokenResponse(server, client, response)
      }),
  }
}

/** Prefers the body to the header, whose encoding of special characters is not the same everywhere. */
const authOf = (server: oauth.AuthorizationServer, secret: string | undefined): oauth.ClientAuth => {
  if (secret === undefined) return oauth.None()
  const takesPost = [server.token_endpoint_auth_methods_supported].flat().includes('client_secret_post')
  return takesPost ? oauth.ClientSecretPost(secret) : oauth.ClientSecretBasic(secret)
}

const refusal = (detail: string): Problem =>
  new Problem('unauthenticated', detail, { headers: { 'www-authenticate': 'ApiKey, Bearer' } })

/** The errors of RFC 6749, section 5.2 that no other code or refresh token changes. */
const faultsOfClient = ['invalid_client', 'unauthorized_client', 'unsupported_grant_type', 'invalid_scope']

/**
 * Throws the problem for an error of a call. The causes of the library's errors contain tokens, so no problem has one of them as its
 * cause. The description of an issuer may quote a secret, so only the person sees it: the log has no details of a 401.
 */
const refuseFor =
  (issuer: string) =>
  (error: unknown): never => {
    if (error instanceof Problem) throw error
    if (!(error instanceof oauth.ResponseBodyError)) {
      const isKnown =
        error instanceof oauth.OperationProcessingError || error instanceof oauth.UnsupportedOperationError
      const why = isKnown ? visible(error.message) : 'it cannot be read'
      throw refusal(`The answer of the issuer is invalid: ${why}. Sign in again.`)
    }
    if (faultsOfClient.includes(error.error))
      throw issuerUnavailable(`ORRERY_JWT_ISSUERS_FILE: the issuer ${issuer} refuses the client (${error.error}).`)
    const { error_description: description } = error
    const why = typeof description === 'string' ? ` (${visible(description)})` : ''
    throw refusal(`The issuer refuses the sign-in: ${visible(error.error)}${why}. Sign in again.`)
  }

const maxShownLength = 200

/** Returns the characters that RFC 6749, appendix A permits in an error. Others become `?`. */
const visible = (text: string): string => text.slice(0, maxShownLength).replaceAll(/[^\x20-\x7e]/g, '?')
