import type { Clock } from './retry.ts'
import type { Scope } from './types.ts'

/**
 * Returns the present token of a user. It is called for each request and connection. If the API refuses the token, it is called with that
 * token, and the request is sent once more if it returns another one. An error that it throws is the error of the request.
 */
export type TokenSource = (refused?: string) => string | Promise<string>

/** The credential and the scope of requests. */
export type Identity = Scope & { readonly apiKey?: string; readonly bearerToken?: string | TokenSource }
/** An identity with the token of one request. */
export type KnownIdentity = Scope & { readonly apiKey?: string; readonly bearerToken?: string | undefined }

/** Options of `createClient`. */
export type ClientOptions = Identity & {
  /** The address of the API without `/api`: `https://orrery.example.com`. In a browser, '' is the page's address. */
  readonly baseUrl: string
  readonly fetch?: typeof globalThis.fetch
  /** The limit of one attempt, until its response is read. Default: 30,000. */
  readonly timeoutMs?: number
  /** The retries of a repeatable request that is answered 429 or 503 with Retry-After. Default: 2. */
  readonly maxRetries?: number
  readonly clock?: Clock
}

/** Returns options without the source of tokens, which gives none before a request. */
export const fixedIdentity = <Options extends Identity>({
  bearerToken,
  ...known
}: Options): Omit<Options, 'bearerToken'> & { readonly bearerToken: string | undefined } => ({
  ...known,
  bearerToken: typeof bearerToken === 'string' ? bearerToken : undefined,
})

/** Returns the secrets of an identity, which no error may show. */
export const secretsOf = ({ apiKey, bearerToken }: KnownIdentity): string[] =>
  [apiKey, bearerToken].filter((secret) => secret !== undefined)

/** Returns the headers of credential and scope. Throws a TypeError, without the value, for an invalid credential. */
export const identityOf = ({ apiKey, bearerToken, organizationId, projectId }: KnownIdentity): [string, string][] => {
  for (const [name, value] of Object.entries({ apiKey, bearerToken })) {
    // The error of `fetch` would quote the value.
    if (value !== undefined && !/^[\x21-\x7e]+$/.test(value)) {
      throw new TypeError(`${name} must contain only visible ASCII characters, without spaces or line breaks.`)
    }
  }
  const headers = {
    'x-api-key': apiKey,
    authorization: bearerToken === undefined ? undefined : `Bearer ${bearerToken}`,
    'x-svc-organization-id': organizationId,
    'x-svc-project-id': projectId,
  }
  return Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
}
