/** An issuer with which people sign in. */
export type Issuer = { readonly id: string; readonly issuer: string; readonly name: string }

/** A sign-in that waits for the issuer to send the browser back. */
export type Attempt = Issuer & {
  readonly state: string
  readonly nonce: string
  readonly codeVerifier: string
  /** The path and query of the console to which the browser returns. */
  readonly path: string
  /** True if the tab may keep the tokens. */
  readonly isKept: boolean
  readonly startedAtMs: number
}

/** A token of a user. Times are milliseconds since 1970 by the clock of the browser. */
export type Token = Issuer & {
  readonly accessToken: string
  readonly refreshToken?: string
  readonly receivedAtMs: number
  readonly expiresAtMs: number
}

/** The address with which an issuer sends the browser back: the parameters, as far as they are used. */
export type Return = {
  readonly state: string
  readonly code: string
  readonly error: string
  readonly issuer: string | undefined
  /** The id of the issuer whose redirect URI the address is. */
  readonly issuerId: string
}

/** The decision about a return: a code to exchange, or a sentence that says why there is none. `path` is the place to go to. */
export type Outcome =
  | { readonly kind: 'code'; readonly returned: Return; readonly attempt: Attempt; readonly path: string }
  | { readonly kind: 'failed'; readonly text: string; readonly issuer: Issuer; readonly path: string }
  // A link of someone else may look like a return.
  | { readonly kind: 'foreign'; readonly text: string; readonly path: string }

const home = '/console/'
const maxAgeMs = 10 * 60_000

/** Returns the return that an address is, or undefined for any other address. */
export const parseReturn = ({ pathname, searchParams }: Pick<URL, 'pathname' | 'searchParams'>): Return | undefined => {
  const of = (name: string): string => searchParams.get(name) ?? ''
  const isReturn = pathname === home && (searchParams.has('code') || searchParams.has('error'))
  if (!isReturn) return undefined
  const issuer = searchParams.get('iss') ?? undefined
  return { state: of('state'), code: of('code'), error: of('error'), issuer, issuerId: of('issuer') }
}

/** Decides about a return, by the attempt that the tab keeps. The text of a return is shown only if it belongs to the attempt. */
export const judgeReturn = (returned: Return, attempt: Attempt | undefined, nowMs: number): Outcome => {
  if (attempt === undefined || attempt.state !== returned.state) {
    const text = 'The address is not the answer to a sign-in of this tab, so nothing was done. Sign in again.'
    return { kind: 'foreign', text, path: home }
  }
  const { name, startedAtMs } = attempt
  const path = attempt.path.startsWith(home) ? attempt.path : home
  const fail = (text: string): Outcome => ({ kind: 'failed', text, issuer: attempt, path })
  if (Math.abs(nowMs - startedAtMs) > maxAgeMs) return fail('The sign-in took more than 10 minutes. Sign in again.')
  const isOther = returned.issuer !== undefined && returned.issuer !== attempt.issuer
  if (isOther || returned.issuerId !== attempt.id) {
    return fail(`The answer to the sign-in is not from ${name}, so nothing was done. Sign in again.`)
  }
  if (returned.code === '') {
    const code = /^[\w.-]{1,64}$/.test(returned.error) ? returned.error : 'unknown error'
    return fail(`${name} refused the sign-in: ${code}. Sign in again, or ask the administrator of ${name}.`)
  }
  return { kind: 'code', returned, attempt, path }
}

const parseObject = (text: string | undefined): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(text ?? '')
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}
const hasTexts = (value: Readonly<Record<string, unknown>>, names: readonly string[]): boolean =>
  names.every((name) => typeof value[name] === 'string')
const hasNumbers = (value: Readonly<Record<string, unknown>>, names: readonly string[]): boolean =>
  names.every((name) => Number.isFinite(value[name]))

/** Returns the attempt in a text of the storage, or undefined if there is none. */
export const parseAttempt = (text: string | undefined): Attempt | undefined => {
  const value = parseObject(text)
  const isAttempt =
    hasTexts(value, ['id', 'issuer', 'name', 'state', 'nonce', 'codeVerifier', 'path']) &&
    hasNumbers(value, ['startedAtMs']) &&
    typeof value.isKept === 'boolean'
  return isAttempt ? (value as unknown as Attempt) : undefined
}

/** Returns the token in a text of the storage, or undefined if there is none. */
export const parseToken = (text: string | undefined): Token | undefined => {
  const value = parseObject(text)
  const isToken =
    hasTexts(value, ['id', 'issuer', 'name', 'accessToken', ...('refreshToken' in value ? ['refreshToken'] : [])]) &&
    hasNumbers(value, ['receivedAtMs', 'expiresAtMs'])
  return isToken ? (value as unknown as Token) : undefined
}

/** The longest time before the expiry of a token at which it is renewed. */
const maxLeadMs = 10 * 60_000

/**
 * Returns the time at which a token is renewed: between a half and three quarters of its life, and at most 10 minutes before its end. Tabs
 * that were signed in together do not renew together. `random` is from 0 to below 1.
 */
export const renewalOf = ({ receivedAtMs, expiresAtMs }: Token, random: number): number => {
  const leadMs = Math.min((expiresAtMs - receivedAtMs) / 2, maxLeadMs)
  return expiresAtMs - leadMs * (0.5 + random / 2)
}

/** The age below which a token is not renewed, so that an API that refuses each token does not cause a flood. */
const leastAgeMs = 5_000

/** Returns what a request does about its token: it uses the token, waits for the next one, or ends the session with a sentence. */
export const planToken = (
  { name, refreshToken, receivedAtMs, expiresAtMs }: Token,
  { isRefused, nowMs }: { readonly isRefused: boolean; readonly nowMs: number },
): { readonly action: 'use' | 'renew' } | { readonly action: 'end'; readonly text: string } => {
  const isNew = Math.abs(nowMs - receivedAtMs) < leastAgeMs
  if (isRefused && isNew) return { action: 'end', text: `The API refuses the token of ${name}. Sign in again.` }
  if (isRefused && refreshToken === undefined)
    return { action: 'end', text: `The sign-in with ${name} has expired. Sign in again.` }
  const isDue = isRefused || (nowMs >= expiresAtMs && !isNew)
  return { action: isDue && refreshToken !== undefined ? 'renew' : 'use' }
}

/** Reports whether the status of a refused renewal says that another attempt has no other result. */
export const isFinalRefusal = (status: number): boolean => [400, 401].includes(status)

/** Returns the sentence for a renewal that the issuer refuses. */
export const notRenewed = ({ name }: Issuer): string => `${name} did not renew the sign-in. Sign in again.`

/** Returns the sentence for a sign-out by the user. */
export const signedOut = ({ name }: Issuer): string =>
  `Signed out here. The session at ${name} may go on: end it there if others use this browser.`
