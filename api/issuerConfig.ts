import { readFileSync } from 'node:fs'
import { clientSecret, type ExternalIssuer } from './domain/access/token.ts'

/** Returns the issuers with the secrets of their clients, read from the files that they name. Throws an Error that names a faulty file. */
export const readIssuerSecrets = (issuers: readonly ExternalIssuer[]): ExternalIssuer[] =>
  issuers.map((each) => {
    const { signIn, issuer } = each
    if (signIn?.clientSecretFile === undefined) return each
    return { ...each, signIn: { ...signIn, clientSecret: readSecret(issuer, signIn.clientSecretFile) } }
  })

const readSecret = (issuer: string, file: string): string => {
  const secret = clientSecret.safeParse(readText(issuer, file).replace(/[\r\n]+$/, ''))
  if (secret.success) return secret.data
  throw new Error(`The clientSecretFile ${file} of the issuer ${issuer} must have 1 to 2,048 characters.`)
}

const readText = (issuer: string, file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new Error(`The clientSecretFile ${file} of the issuer ${issuer} cannot be read.`, { cause })
  }
}
