import { type ReadonlySignal, signal } from '@preact/signals'
import { ApiError, createClient } from '#client/client.ts'
import { toPath } from '#console/state/route.ts'
import type { Attempt, Issuer } from '#console/state/signIn.ts'
import { place } from './location.ts'
import { store } from './storage.ts'
import { redirectUri } from './tokens.ts'

const client = createClient({ baseUrl: '' })
const found = signal<readonly Issuer[] | undefined>(undefined)
const failure = signal<unknown>(undefined)

/** The issuers with which people can sign in. Undefined until they are known. */
export const issuers: ReadonlySignal<readonly Issuer[] | undefined> = found
/** The error for which they are not known. */
export const issuersFailure: ReadonlySignal<unknown> = failure

let isLoading = false
/** Requests the issuers once for the page, and again after a failure. */
export const loadIssuers = async (): Promise<void> => {
  if (found.peek() !== undefined || isLoading) return
  isLoading = true
  failure.value = undefined
  try {
    found.value = (await client.listSignInIssuers()).issuers
  } catch (error) {
    // A version without sign-in at an issuer.
    if (error instanceof ApiError && error.status === 404) found.value = []
    else failure.value = error
  }
  isLoading = false
}

const randomText = (): string => toText(crypto.getRandomValues(new Uint8Array(32)))
/** Returns bytes as base64url, which older browsers do not do by themselves. */
const toText = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

/**
 * Leaves the console for the page of an issuer, which sends the browser back to the present place. Returns why it does not, or '' if it
 * does. Throws the error of the request.
 */
export const goToIssuer = async (
  { id, issuer, name }: Issuer,
  { isKept }: { readonly isKept: boolean },
): Promise<string> => {
  if (!isSecureContext) return 'The browser permits this only over HTTPS. Open the console at its address with https.'
  const [state, nonce, codeVerifier] = [randomText(), randomText(), randomText()]
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(codeVerifier))
  const codeChallenge = toText(new Uint8Array(digest))
  const body = { issuer, redirectUri: redirectUri(id), state, nonce, codeChallenge }
  const { url } = await client.createSignInRequest({ body })
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) return `The API named an address of ${name} that is no page.`
  const path = toPath(place.value)
  const attempt: Attempt = { id, issuer, name, state, nonce, codeVerifier, path, isKept, startedAtMs: Date.now() }
  const isStored = store('orrery.signIn', JSON.stringify(attempt))
  if (!isStored)
    return 'The browser blocks the storage of this site, which the way back needs. Permit it, or use a key.'
  location.assign(url)
  return ''
}
