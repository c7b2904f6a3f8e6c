import { sql } from 'drizzle-orm'
import type { Context, SignIn } from '#api/domain/access/context.ts'
import { runInShare } from '#api/domain/endpoint/serve.ts'
import type { Principal } from '#api/platform/auth/principal.ts'
import { notFound, Problem } from '#api/platform/http/problem.ts'
import type { OpenIdTokens } from '#api/platform/openId/client.ts'
import { withDefined } from '#shared/optional.ts'
import type { CodeBody, RefreshBody, SignInIssuers, SignInRequestBody, SignInTokenAnswer } from './schema.ts'
import { explainRefusal } from './tokenFault.ts'

/** Returns the issuers with which people can sign in. */
export const listSignInIssuers = ({ signIns }: Context): SignInIssuers => ({
  issuers: [...signIns.values()].map(({ id, issuer, name }) => ({ id, issuer, name })),
})

/**
 * Returns the address of the authorization endpoint for a request of the console. Throws a 404 for an unknown issuer, a 400 for an
 * address that is not one of the console for this issuer, and a 503 if the issuer does not answer.
 */
export const createSignInRequest = async (ctx: Context, body: SignInRequestBody): Promise<{ url: string }> => {
  const signIn = signInOf(ctx, body)
  checkRedirectUri(signIn, body)
  return { url: await signIn.client.authorizationUrl(body) }
}

/**
 * Exchanges a code for a token that the API accepts, and leaves an audit record of the user. Throws as `createSignInRequest` does, and
 * a 401 for a code that the issuer refuses and a token that the API does not accept.
 */
export const createSignInToken = async (ctx: Context, body: CodeBody): Promise<SignInTokenAnswer> => {
  const signIn = signInOf(ctx, body)
  checkRedirectUri(signIn, body)
  const ask = () => signIn.client.exchange(body)
  const { user, answer } = await askIssuer(ctx, 'sign-ins', { signIn, ask })
  const { organizationId = '' } = user
  try {
    await runInShare({ ...ctx, principal: user }, () => ctx.recordAudit({ actor: user, organizationId }))
  } catch (err) {
    // The code is used up, so the person would have to sign in again.
    ctx.log.error({ err, organizationId, userId: user.id }, 'a sign-in has no audit record')
  }
  return answer
}

/** Exchanges a refresh token for a token that the API accepts. Throws as `createSignInToken` does. */
export const refreshSignInToken = async (ctx: Context, body: RefreshBody): Promise<SignInTokenAnswer> => {
  const signIn = signInOf(ctx, body)
  const { refreshToken } = body
  const ask = async () => ({ refreshToken, ...withDefined(await signIn.client.refresh(refreshToken)) })
  const { answer } = await askIssuer(ctx, 'renewals', { signIn, ask })
  return answer
}

const signInOf = ({ signIns }: Context, { issuer }: Pick<CodeBody, 'issuer'>): SignIn => {
  const signIn = signIns.get(issuer)
  if (signIn === undefined) throw notFound()
  return signIn
}

/** A code is sent to this address, so it must be that of a console. It names the issuer, so that the code is its own. */
const checkRedirectUri = ({ redirectUris }: SignIn, { redirectUri }: Pick<CodeBody, 'redirectUri'>): void => {
  if (redirectUris.includes(redirectUri)) return
  const message = `must be ${redirectUris.join(' or ')}`
  const advice = 'Open the console there, or set ORRERY_PUBLIC_URL or ORRERY_ALLOWED_ORIGINS of the API to its origin.'
  throw new Problem('invalid_request', `redirectUri ${message}. ${advice}`, {
    errors: [{ path: '/redirectUri', message }],
  })
}

/**
 * Asks an issuer within the limits of sign-ins. First it loads the keys of the issuer and queries the database, because a code or a
 * refresh token that is often valid only once would be lost without them. Only a 401 counts as a failed credential: other errors are no
 * fault of the person.
 */
const askIssuer = async (
  ctx: Context,
  kind: Parameters<Context['countSignIn']>[0],
  { signIn, ask }: { readonly signIn: SignIn; readonly ask: () => Promise<Partial<OpenIdTokens>> },
): Promise<Accepted> => {
  const forgive = ctx.countSignIn(kind, signIn.issuer)
  let isRefused = false
  try {
    await ctx.loadIssuerKeys(signIn.issuer)
    await runInShare(ctx, () => ctx.db.execute(sql`select 1`))
    return await acceptTokens(ctx, signIn, await ask())
  } catch (error) {
    isRefused = error instanceof Problem && error.code === 'unauthenticated'
    throw error
  } finally {
    if (!isRefused) forgive()
  }
}

type Accepted = { readonly user: Principal; readonly answer: SignInTokenAnswer }

/** Verifies a token as each request with it does. */
const acceptTokens = async (
  ctx: Context,
  signIn: SignIn,
  { accessToken, idToken, refreshToken }: Partial<OpenIdTokens>,
): Promise<Accepted> => {
  const token = signIn.token === 'id' ? idToken : accessToken
  const user = token === undefined ? undefined : await ctx.verifyToken(token)
  if (token !== undefined && user?.expiresAtMs !== undefined && user.external?.issuer === signIn.issuer) {
    const expiresAt = new Date(user.expiresAtMs).toISOString()
    return { user, answer: { accessToken: token, expiresAt, ...withDefined({ refreshToken }) } }
  }
  const why = explainRefusal(token, signIn, ctx.clock.now())
  // Most of these faults are in the settings, which the person cannot change.
  ctx.log.warn({ issuer: signIn.issuer, why }, 'the token of a sign-in is not accepted')
  throw new Problem('unauthenticated', why, { headers: { 'www-authenticate': 'ApiKey, Bearer' } })
}
