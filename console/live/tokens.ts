import { type Answer, ApiError, type Client, createClient, type TokenSource } from '#client/client.ts'
import { sentAtByServer } from '#console/state/bulk/pace.ts'
import {
  type Attempt,
  type Issuer,
  isFinalRefusal,
  notRenewed,
  planToken,
  type Return,
  renewalOf,
  type Token,
} from '#console/state/signIn.ts'

/** The token of a session, which is renewed until it is closed. */
export type Tokens = {
  /** Returns the present token. It waits for the next one if the token has expired or was refused. */
  readonly present: TokenSource
  close(): void
}

type Options = {
  readonly client?: Client
  /** Called with each token that replaces the last one. */
  readonly onRenewed: (token: Token) => void
  /** Called at most once, with a sentence: the token is not renewed any more. */
  readonly onEnd: (text: string) => void
}

const ownClient = createClient({ baseUrl: '' })

/** The longest time between two looks at the clock. After a sleep of the computer, timers may be late. */
const lookMs = 30_000
/** The time after which a renewal that failed is tried again. */
const againMs = 10_000

const toToken = (
  { id, issuer, name }: Issuer,
  body: Answer<'createSignInToken'>,
  headers: Headers,
  atMs: number,
): Token => {
  const nowMs = Date.now()
  const { accessToken, expiresAt, refreshToken } = body
  // The clock of the browser may be wrong, so the life of the token is that by the clock of the API.
  const aheadMs = atMs - sentAtByServer(headers, { atMs, nowMs })
  return {
    id,
    issuer,
    name,
    accessToken,
    ...(refreshToken !== undefined && { refreshToken }),
    receivedAtMs: nowMs,
    expiresAtMs: Date.parse(expiresAt) + aheadMs,
  }
}

/** Exchanges the code of a return for a token. Throws the error of the request. */
export const exchangeCode = async ({ code, issuer: iss, issuerId }: Return, attempt: Attempt): Promise<Token> => {
  const { issuer, codeVerifier, nonce } = attempt
  const atMs = Date.now()
  const body = {
    issuer,
    code,
    codeVerifier,
    nonce,
    redirectUri: redirectUri(issuerId),
    ...(iss !== undefined && { iss }),
  }
  const answer = await ownClient.request('createSignInToken', { body })
  return toToken(attempt, answer.body, answer.headers, atMs)
}

/** Returns the address to which an issuer sends the browser back. */
export const redirectUri = (issuerId: string): string => `${location.origin}/console/?issuer=${issuerId}`

/** Renews a token before it expires, and whenever a request needs that. At most one renewal runs at a time. */
export const createTokens = (first: Token, { client = ownClient, onRenewed, onEnd }: Options): Tokens => {
  let token = first
  let isEnded = false
  let renewal: Promise<void> | undefined
  let timer: ReturnType<typeof setTimeout> | undefined

  const close = (): void => {
    isEnded = true
    clearTimeout(timer)
  }
  const end = (text: string): void => {
    if (isEnded) return
    close()
    onEnd(text)
  }
  const send = async (): Promise<void> => {
    const { issuer, refreshToken = '' } = token
    const atMs = Date.now()
    try {
      const { body, headers } = await client.request('refreshSignInToken', { body: { issuer, refreshToken } })
      if (isEnded) return
      // An issuer that names no other refresh token keeps the last one valid.
      token = toToken(token, { refreshToken, ...body }, headers, atMs)
      onRenewed(token)
      wait(renewalOf(token, Math.random()))
    } catch (error) {
      if (!(error instanceof ApiError && isFinalRefusal(error.status))) throw error
      end(notRenewed(token))
    }
  }
  const renew = async (): Promise<void> => {
    renewal ??= send()
    try {
      await renewal
    } finally {
      renewal = undefined
    }
  }
  /** Renews the token at a time. If that fails, it goes on until the token expires; then the next request renews it. */
  const wait = (atMs: number): void => {
    clearTimeout(timer)
    if (isEnded || token.refreshToken === undefined) return
    const look = (): void => {
      if (Date.now() < atMs) wait(atMs)
      else renew().catch(() => Date.now() < token.expiresAtMs && wait(Date.now() + againMs))
    }
    timer = setTimeout(look, Math.max(0, Math.min(atMs - Date.now(), lookMs)))
  }
  wait(renewalOf(token, Math.random()))
  return {
    present: async (refused) => {
      const plan = planToken(token, { isRefused: refused === token.accessToken, nowMs: Date.now() })
      if (!isEnded && plan.action === 'end') end(plan.text)
      if (!isEnded && plan.action === 'renew') await renew()
      return token.accessToken
    },
    close,
  }
}
