import * as oauth from 'oauth4webapi'
import { isLoopbackHost, isLoopbackUrl } from '#api/platform/http/secureUrl.ts'
import type { Clock } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'
import { type IssuerFetch, issuerUnavailable } from './issuerFetch.ts'

const refreshMs = 300_000
/** The time after a failed attempt to read a configuration in which there is no other one. */
const cooldownMs = 5_000

/**
 * Returns a function that returns the configuration of an issuer (OpenID Connect Discovery 1.0). One that is older than five minutes
 * is read again first; if that fails, the last one stays in use, and the log says why. Throws a 503 if there is none.
 */
export const createDiscovery = (
  issuer: string,
  { clock, log, fetch }: { readonly clock: Clock; readonly log: Log; readonly fetch: IssuerFetch },
) => {
  let known: oauth.AuthorizationServer | undefined
  let pending: Promise<void> | undefined
  let failure: unknown
  let freshUntilMs = Number.NEGATIVE_INFINITY
  const read = async (): Promise<oauth.AuthorizationServer> => {
    const url = new URL(issuer)
    const options = { [oauth.customFetch]: fetch, [oauth.allowInsecureRequests]: true }
    const response = await oauth.discoveryRequest(url, options)
    // The library's message says what is wrong. Its cause is the document.
    const server = await oauth.processDiscoveryResponse(url, response).catch(({ message }: Error) => invalid(message))
    const fault = findFault(issuer, server)
    return fault === undefined ? server : invalid(fault)
  }
  const invalid = (fault: string): never => {
    const advice = 'Compare it with ORRERY_JWT_ISSUERS_FILE.'
    throw issuerUnavailable(`The OpenID configuration of the issuer ${issuer} is invalid: ${fault}. ${advice}`)
  }
  const load = async (): Promise<void> => {
    try {
      known = await read()
      freshUntilMs = clock.monotonic() + refreshMs
    } catch (err) {
      failure = err
      freshUntilMs = clock.monotonic() + cooldownMs
      if (known !== undefined) log.warn({ issuer, err }, 'the last OpenID configuration of the issuer stays in use')
    }
    pending = undefined
  }
  return async (): Promise<oauth.AuthorizationServer> => {
    if (clock.monotonic() > freshUntilMs) {
      pending ??= load()
      await pending
    }
    if (known === undefined) throw failure
    return known
  }
}

const findFault = (issuer: string, server: oauth.AuthorizationServer): string | undefined => {
  if (server.issuer !== issuer) return `its issuer is not the same text as ${issuer}`
  for (const name of ['authorization_endpoint', 'token_endpoint'] as const) {
    if (!isEndpoint(server[name], issuer))
      return `its ${name} must be https, without a user; http is allowed on loopback only`
  }
  return undefined
}

/** An issuer elsewhere must not direct requests to the host of the API. */
const isEndpoint = (endpoint: unknown, issuer: string): boolean => {
  const url = typeof endpoint === 'string' ? URL.parse(endpoint) : null
  if (url === null || url.username !== '' || url.password !== '' || url.hash !== '') return false
  return url.protocol === 'https:'
    ? !isLoopbackHost(url) || isLoopbackHost(new URL(issuer))
    : isLoopbackUrl(url.href) && isLoopbackUrl(issuer)
}
