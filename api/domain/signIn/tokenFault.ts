import { decodeJwt, decodeProtectedHeader, type JWTPayload } from 'jose'
import type { SignIn } from '#api/domain/access/context.ts'
import { allowedAlgorithms, clockToleranceSeconds, maySignFor } from '#api/domain/access/token.ts'
import { isId } from '#shared/ids.ts'

type Trusted = Pick<SignIn, 'issuer' | 'audience' | 'organizations' | 'token'>

/**
 * Returns the first reason why the token of a sign-in is not accepted, and what to do, for a token that the verifier has refused.
 * `token` is undefined if the answer of the issuer has none. The claims are not verified, so the text decides nothing.
 */
export const explainRefusal = (token: string | undefined, issuer: Trusted, nowMs: number): string => {
  const name = issuer.token === 'id' ? 'ID token' : 'access token'
  if (token === undefined) return `The answer of the issuer has no ${name}. Sign in again.`
  return `The ${name} of the issuer is not accepted: ${faultOf(token, issuer, nowMs)}`
}

const faultOf = (token: string, issuer: Trusted, nowMs: number): string => {
  const { audience } = issuer
  const decoded = decode(token)
  if (decoded === undefined)
    return `it is opaque. Give the client the audience ${audience} at the issuer, so that it gets a JWT, or set signIn.token to id.`
  const { alg, claims } = decoded
  const { iss, aud, sub, exp, organization_id: organizationId } = claims
  if (iss !== issuer.issuer) return `its claim iss is not ${issuer.issuer}. Set the issuer to the claim.`
  if (aud === undefined || ![aud].flat().includes(audience))
    return `its claim aud is not ${audience}. Give the client this audience at the issuer, or set the audience of the issuer to the claim.`
  if (alg === undefined || !allowedAlgorithms.includes(alg))
    return `its algorithm is not ${allowedAlgorithms.join(', ')}. Change the keys of the client at the issuer.`
  if (sub === undefined) return missing('sub')
  if (exp === undefined) return missing('exp')
  if (exp + clockToleranceSeconds <= nowMs / 1_000)
    return 'it has expired. Compare the clocks of the issuer and the API.'
  if (organizationId === undefined) return missing('organization_id')
  if (typeof organizationId !== 'string' || !isId('organization', organizationId))
    return 'its claim organization_id is not the id of an organization. Set it to an id such as org-01m7y9g1a7emva3288dhww2jgd.'
  if (!maySignFor(issuer, organizationId))
    return `the issuer may not sign tokens for ${organizationId}. Add the organization to the organizations of the issuer.`
  return `its organization ${organizationId} does not exist, a claim is invalid, or its key is not at the jwksUrl of the issuer.`
}

const missing = (claim: string): string =>
  `it has no claim ${claim}. Add the claim to the tokens of the client at the issuer.`

const decode = (token: string): { alg: string | undefined; claims: JWTPayload } | undefined => {
  try {
    return { alg: decodeProtectedHeader(token).alg, claims: decodeJwt(token) }
  } catch {
    return undefined
  }
}
