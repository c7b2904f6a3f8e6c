import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { issuerSchema, issuersSchema } from './domain/access/token.ts'
import { readIssuerSecrets } from './issuerConfig.ts'

const dir = mkdtempSync(join(tmpdir(), 'orrery-issuers-'))
afterAll(() => rmSync(dir, { recursive: true }))
const secretFile = (content: string): string => {
  const file = join(dir, `secret-${content.length}`)
  writeFileSync(file, content)
  return file
}
const parse = ({ signIn, ...more }: { signIn?: object }) =>
  issuerSchema.safeParse({
    issuer: 'https://id.example.com',
    audience: 'orrery',
    jwksUrl: 'https://id.example.com/jwks',
    organizations: ['*'],
    signIn: { name: 'Example', clientId: 'console', ...signIn },
    ...more,
  })

test.each<[string, string, { issuer?: string; signIn?: object }]>([
  ['must be an https URL', 'issuer', { issuer: 'id.example.com' }],
  ['must be an https URL', 'issuer', { issuer: 'http://id.example.com' }],
  ['without a query', 'issuer', { issuer: 'https://id.example.com/?tenant=a' }],
  ['must be the clientId', 'audience', { signIn: { token: 'id' } }],
  ['must contain openid', 'signIn.scopes', { signIn: { scopes: ['email'] } }],
  ['without spaces', 'signIn.scopes.0', { signIn: { scopes: ['openid email'] } }],
  ['not both', 'signIn', { signIn: { clientSecret: 'a', clientSecretFile: 'b' } }],
  ['expected string', 'signIn.clientId', { signIn: { clientId: undefined } }],
])('a faulty sign-in is a fault: %s (%s)', (fault, path, entry) => {
  const issues = parse(entry)
    .error?.issues.map((each) => `${each.path.join('.')} ${each.message}`)
    .join('; ')
  expect(issues).toMatch(new RegExp(`^${path} .*${fault}`))
})

test('an issuer with a client is listed once', () => {
  const { data } = parse({})
  expect(issuersSchema.safeParse([data]).success).toBe(true)
  for (const other of [data, { ...data, signIn: undefined }]) {
    const issues = [{ message: 'lists an issuer with signIn twice' }]
    expect(issuersSchema.safeParse([data, other]).error?.issues).toMatchObject(issues)
  }
  const plain = { ...data, signIn: undefined }
  expect(issuersSchema.safeParse([plain, plain]).success).toBe(true)
})

const withSecret = (clientSecretFile: string) => {
  const { data } = parse({ signIn: { clientSecretFile } })
  return readIssuerSecrets(data === undefined ? [] : [data])
}

test('the secret of a client is read from its file, without the line end', () => {
  expect(withSecret(secretFile('a secret\n'))).toMatchObject([
    { signIn: { clientSecret: 'a secret', scopes: ['openid'] } },
  ])
  for (const faulty of ['\n', 's'.repeat(2_049)])
    expect(() => withSecret(secretFile(faulty))).toThrow(/clientSecretFile .* of the issuer .* must have 1 to 2,048/)
  expect(() => withSecret('/none')).toThrow(
    'The clientSecretFile /none of the issuer https://id.example.com cannot be read',
  )
})
