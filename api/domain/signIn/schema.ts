import * as z from 'zod'
import { boundedText, shownInstant } from '#api/platform/http/fields.ts'

/** The longest value of a parameter of OAuth 2.0, such as a code. */
const maxValueLength = 4_096
/** The longest refresh token. Some issuers write their state into it. */
const maxTokenLength = 16_384
const issuer = 'https://id.example.com'
const id = '3d38e146cf9fbc8cec9ac1a3'
const exampleUri = `https://orrery.example.com/console/?issuer=${id}`
const exampleChallenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
const exampleVerifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const maxUrlLength = 2_048
const value = () => boundedText(maxValueLength).min(1)
const issuerField = () => boundedText(maxUrlLength).min(1).describe('The issuer, as `listSignInIssuers` names it.')
const redirectUri = () =>
  boundedText(maxUrlLength).describe('The address of the console, with the query `?issuer=<id>` of the issuer.')

/** The answer of `GET /api/sign-in/issuers/`. */
export const signInIssuers = z
  .object({
    issuers: z
      .array(
        z.object({
          id: z.string().describe('The id of the issuer in its redirect URIs.'),
          issuer: z.string().describe('The issuer of the tokens.'),
          name: z.string().describe('Name for the button.'),
        }),
      )
      .describe('The issuers with which people can sign in to the console.'),
  })
  .meta({ id: 'SignInIssuers', examples: [{ issuers: [{ id, issuer, name: 'Example' }] }] })

/** The body of `POST /api/sign-in/requests/`. */
export const signInRequestBody = z
  .strictObject({
    issuer: issuerField(),
    redirectUri: redirectUri(),
    state: value().describe('The state that the browser expects back (RFC 6749, section 10.12).'),
    nonce: value().describe('The nonce that an ID token must name (OpenID Connect Core 1.0, section 3.1.2.1).'),
    codeChallenge: boundedText(128)
      .regex(/^[\w-]{43}$/, 'must be the SHA-256 of the code verifier as base64url')
      .describe('The challenge of the code verifier, with the method S256 (RFC 7636).'),
  })
  .meta({
    id: 'SignInRequest',
    examples: [
      { issuer, redirectUri: exampleUri, state: 'af0ifjsldkj', nonce: 'n-0S6_WzA2Mj', codeChallenge: exampleChallenge },
    ],
  })

/** The answer of `POST /api/sign-in/requests/`. */
export const signInRequest = z
  .object({ url: z.string().describe('The address of the issuer to which the browser goes.') })
  .meta({ id: 'SignInAddress', examples: [{ url: 'https://id.example.com/authorize?client_id=console' }] })

/** The body of `POST /api/sign-in/tokens/`. */
export const codeBody = z
  .strictObject({
    issuer: issuerField(),
    redirectUri: redirectUri(),
    code: value().describe('The code that the issuer sent with the browser.'),
    codeVerifier: boundedText(128)
      .regex(/^[\w.~-]{43,128}$/, 'must be a code verifier (RFC 7636)')
      .describe('The code verifier of the challenge.'),
    nonce: value().describe('The nonce of the request.'),
    iss: boundedText(maxUrlLength)
      .exactOptional()
      .describe('The issuer in the address of the browser (RFC 9207). Required if the issuer sends it.'),
  })
  .meta({
    id: 'SignInCode',
    examples: [
      {
        issuer,
        redirectUri: exampleUri,
        code: 'SplxlOBeZQQYbYS6WxSbIA',
        codeVerifier: exampleVerifier,
        nonce: 'n-0S6_WzA2Mj',
      },
    ],
  })

/** The body of `POST /api/sign-in/refresh/`. */
export const refreshBody = z
  .strictObject({
    issuer: issuerField(),
    refreshToken: boundedText(maxTokenLength).min(1).describe('The refresh token of the last answer.'),
  })
  .meta({ id: 'SignInRefresh', examples: [{ issuer, refreshToken: '8xLOxBtZp8' }] })

/** The answer with a token. */
export const signInToken = z
  .object({
    accessToken: z.string().describe('The token for the header Authorization: Bearer.'),
    expiresAt: shownInstant('Time from which the token is refused.'),
    refreshToken: z
      .string()
      .exactOptional()
      .describe('The token that gets the next one: a new one, or the last one. Absent if the issuer gives none.'),
  })
  .meta({
    id: 'SignInToken',
    examples: [{ accessToken: `eyJ${'*'.repeat(12)}`, expiresAt: '2026-01-01T00:00:00.000Z' }],
  })

export type SignInIssuers = z.output<typeof signInIssuers>
export type SignInRequestBody = z.output<typeof signInRequestBody>
export type CodeBody = z.output<typeof codeBody>
export type RefreshBody = z.output<typeof refreshBody>
export type SignInTokenAnswer = z.output<typeof signInToken>
