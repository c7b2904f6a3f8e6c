import { expect, test } from 'vitest'
import { explainRefusal } from './tokenFault.ts'

const organization = `org-${'0'.repeat(26)}`
const issuer = {
  issuer: 'https://id.example.com',
  audience: 'orrery',
  organizations: [organization],
  token: 'access' as const,
}
const valid = { iss: issuer.issuer, aud: 'orrery', sub: 'ada', exp: 1_000, organization_id: organization }
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const aToken = (claims: object, alg = 'RS256'): string => `${part({ alg })}.${part({ ...valid, ...claims })}.AA`

test.each<[string, string]>([
  ['it is opaque', 'opaque'],
  ['its claim iss', aToken({ iss: 'https://other.example.com' })],
  ['its claim aud is not orrery', aToken({ aud: ['account'] })],
  ['its claim aud is not orrery', aToken({ aud: undefined })],
  ['its algorithm', aToken({}, 'HS256')],
  ['no claim sub', aToken({ sub: undefined })],
  ['no claim exp', aToken({ exp: undefined })],
  ['it has expired', aToken({ exp: 470 })],
  ['no claim organization_id', aToken({ organization_id: undefined })],
  ['is not the id of an organization', aToken({ organization_id: { $ne: '' } })],
  [`the issuer may not sign tokens for org-${'1'.repeat(26)}`, aToken({ organization_id: `org-${'1'.repeat(26)}` })],
  ['does not exist, a claim is invalid, or its key is not at the jwksUrl of the issuer.', aToken({})],
])('a refused token is explained: %s', (reason, token) => {
  expect(explainRefusal(token, issuer, 500_000)).toContain(reason)
})
