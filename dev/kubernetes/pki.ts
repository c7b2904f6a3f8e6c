import 'reflect-metadata'
import { webcrypto } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as x509 from '@peculiar/x509'

/** A certificate and its key as PEM files. Only their owner can read the keys. */
export type KeyPair = { readonly certFile: string; readonly keyFile: string }

/** The certificate authority of one development control plane. Its files are created once and then reused. */
export type Pki = {
  readonly caFile: string
  /** Returns a server certificate for these addresses and names. */
  server(name: string, alternatives: readonly string[]): Promise<KeyPair>
  /** Returns a client certificate with this user and these groups. */
  client(identity: { user: string; groups?: readonly string[] }): Promise<KeyPair>
  /** A key for signing service account tokens. */
  signingKey(): Promise<{ keyFile: string; publicFile: string }>
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const validMs = 3650 * 24 * 3_600_000
x509.cryptoProvider.set(webcrypto as Crypto)

/**
 * Opens the authority whose files are in `dir`, and creates it if there are none. Throws an error that says how to
 * delete the files if they are invalid.
 */
export const openPki = async (dir: string, nowMs: number): Promise<Pki> => {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const notBefore = new Date(nowMs - 3_600_000)
  const notAfter = new Date(nowMs + validMs)
  const caFile = join(dir, 'ca.crt')
  const caKeyFile = join(dir, 'ca.key')
  if (!existsSync(caFile)) {
    const keys = await generate()
    const ca = await x509.X509CertificateGenerator.createSelfSigned({
      name: [{ CN: ['orrery-development-ca'] }],
      notBefore,
      notAfter,
      keys,
      signingAlgorithm: algorithm,
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.digitalSignature, true),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    })
    write(caKeyFile, await pem(keys.privateKey))
    write(caFile, ca.toString('pem'))
  }
  const { ca, caKey } = await readAuthority(dir, caFile, caKeyFile)

  const issue = async (file: string, name: x509.JsonName, usage: string, alternatives: readonly string[]) => {
    const pair = { certFile: join(dir, `${file}.crt`), keyFile: join(dir, `${file}.key`) }
    const keys = await generate()
    const names = alternatives.map((value) => ({
      type: /^[\d.]+$|:/.test(value) ? ('ip' as const) : ('dns' as const),
      value,
    }))
    const certificate = await x509.X509CertificateGenerator.create({
      subject: name,
      issuer: ca.subject,
      notBefore,
      notAfter,
      publicKey: keys.publicKey,
      signingKey: caKey,
      signingAlgorithm: algorithm,
      extensions: [
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([usage]),
        ...(names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : []),
      ],
    })
    write(pair.keyFile, await pem(keys.privateKey))
    write(pair.certFile, certificate.toString('pem'))
    return pair
  }
  return {
    caFile,
    server: (name, alternatives) => issue(name, [{ CN: [name] }], x509.ExtendedKeyUsage.serverAuth, alternatives),
    client: ({ user, groups = [] }) =>
      issue(
        `client-${user.replaceAll(/[^a-z0-9-]/gi, '_')}`,
        [...groups.map((group) => ({ O: [group] })), { CN: [user] }],
        x509.ExtendedKeyUsage.clientAuth,
        [],
      ),
    signingKey: async () => {
      const files = { keyFile: join(dir, 'service-account.key'), publicFile: join(dir, 'service-account.pub') }
      if (existsSync(files.keyFile)) return files
      const keys = await generate()
      const exported = Buffer.from(await webcrypto.subtle.exportKey('spki', keys.publicKey))
      write(files.publicFile, toPem('PUBLIC KEY', exported))
      write(files.keyFile, await pem(keys.privateKey))
      return files
    },
  }
}

const generate = () => webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])

const pem = async (key: webcrypto.CryptoKey): Promise<string> =>
  toPem('PRIVATE KEY', Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key)))

const toPem = (label: string, der: Buffer): string =>
  `-----BEGIN ${label}-----\n${der.toString('base64').replaceAll(/.{64}/g, '$&\n')}\n-----END ${label}-----\n`

const readAuthority = async (dir: string, caFile: string, caKeyFile: string) => {
  try {
    return { ca: new x509.X509Certificate(readFileSync(caFile, 'utf8')), caKey: await readKey(caKeyFile) }
  } catch (cause) {
    throw new Error(
      `The certificate authority in ${dir} cannot be read (ca.crt and ca.key). Start with --reset to forget the state.`,
      { cause },
    )
  }
}

const readKey = (file: string): Promise<webcrypto.CryptoKey> => {
  const der = Buffer.from(readFileSync(file, 'utf8').replaceAll(/-----[^-]+-----|\s/g, ''), 'base64')
  return webcrypto.subtle.importKey('pkcs8', der, algorithm, true, ['sign'])
}

const write = (file: string, text: string): void => writeFileSync(file, text, { mode: 0o600 })
