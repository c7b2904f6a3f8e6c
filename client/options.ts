import type { Clock } from './retry.ts'
import type { Scope } from './types.ts'

/** As whom the API is asked, and whose things are meant. */
export type Identity = Scope & { readonly apiKey?: string; readonly bearerToken?: string }

/** How the API is reached, and as whom. */
export type ClientOptions = Identity & {
  /** Where the API is, without `/api`: `https://orrery.example.com`; '' is the address of the page in a browser. */
  readonly baseUrl: string
  readonly fetch?: typeof globalThis.fetch
  /** How long one attempt may take, its answer read to the end; 30 s unless given. */
  readonly timeoutMs?: number
  /** How often a request is tried again that may be and that the API asks for; 2 unless given. */
  readonly maxRetries?: number
  readonly clock?: Clock
}

/** The headers that every request has; throws where a credential cannot be one, without telling it. */
export const identityOf = ({ apiKey, bearerToken, organizationId, projectId }: Identity): [string, string][] => {
  for (const [name, value] of Object.entries({ apiKey, bearerToken })) {
    // `fetch` would say so too, and quote the value.
    if (value !== undefined && !/^[\x21-\x7e]+$/.test(value)) {
      throw new TypeError(`${name} must be visible ASCII characters alone, without spaces or line ends.`)
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
