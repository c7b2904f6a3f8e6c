import { fixedIdentity, type Identity, type KnownIdentity, type TokenSource } from './options.ts'

/** A response, and the identity with which its request was sent. */
type Sent = { readonly response: Response; readonly sentAs: KnownIdentity }

/**
 * Sends a request as an identity, and once more if the API refuses the token and its source has another one. It tells the source of each
 * refusal.
 */
export const sendIdentified = async (
  identity: Identity,
  send: (known: KnownIdentity) => Promise<Response>,
): Promise<Sent> => {
  const { bearerToken } = identity
  const fixed = fixedIdentity(identity)
  if (typeof bearerToken !== 'function') return { response: await send(fixed), sentAs: fixed }
  const token = await bearerToken()
  const sentAs = { ...fixed, bearerToken: token }
  const response = await send(sentAs)
  const next = response.status === 401 ? await bearerToken(token) : token
  if (next === token) return { response, sentAs }
  await response.body?.cancel()
  const again = { ...fixed, bearerToken: next }
  const last = await send(again)
  if (last.status === 401) await tell(bearerToken, next)
  return { response: last, sentAs: again }
}

/** No request follows, so the answer of the source is not used. */
const tell = async (source: TokenSource, refused: string): Promise<void> => {
  try {
    await source(refused)
  } catch {
    // The error of the request is its refusal.
  }
}
