import { readFileSync } from 'node:fs'
import { type BlockList, isIP, SocketAddress } from 'node:net'
import * as z from 'zod'
import { parseNetwork, toBlockList } from '#api/platform/http/networks.ts'
import type { EncryptionKey } from './platform/secrets/seal.ts'

/** Parses a variable that is the path of a JSON file, and checks the content. */
export const jsonFile = <S extends z.ZodType>(schema: S) =>
  z.string().transform((path, context): z.output<S> => {
    try {
      const result = schema.safeParse(JSON.parse(readFileSync(path, 'utf8')))
      if (result.success) return result.data
      const faults = result.error.issues.map((issue) => `${issue.path.join('.') || 'the document'} ${issue.message}`)
      context.addIssue({ code: 'custom', message: `names a file with invalid content: ${faults.join('; ')}` })
    } catch (error) {
      const why = error instanceof SyntaxError ? 'is not JSON' : 'cannot be read'
      context.addIssue({ code: 'custom', message: `names a file that ${why}` })
    }
    return z.NEVER
  })

/** Parses a variable that is the path of a file with certificates (PEM). */
export const certificates = z.string().transform((path, context): string[] => {
  try {
    const pem = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g
    const found = readFileSync(path, 'utf8').match(pem) ?? []
    if (found.length > 0) return [...found]
    context.addIssue({ code: 'custom', message: 'names a file without certificates (PEM)' })
  } catch {
    context.addIssue({ code: 'custom', message: 'names a file that cannot be read' })
  }
  return z.NEVER
})

/** The address of a DNS server, optionally with a port: `10.0.0.10:53` or `[fd00::10]:53`. */
export const dnsServer = z
  .string()
  .refine(
    (text) => SocketAddress.parse(text) !== undefined || isIP(text) !== 0,
    'must be addresses such as 10.0.0.10 or 10.0.0.10:53',
  )

/**
 * Reports whether a secret looks random: at least 80 bits by the Shannon entropy of its characters, no ascending or
 * repeated sequence, and no placeholder such as "changeme". API keys and 24 random base64 characters pass.
 */
const isUnpredictable = (text: string): boolean => {
  const counts = [...Map.groupBy(text, (letter) => letter).values()].map((letters) => letters.length)
  const bits = counts.reduce((sum, count) => sum - count * Math.log2(count / text.length), 0)
  const steps = new Set(Array.from(text.slice(1), (letter, at) => letter.charCodeAt(0) - text.charCodeAt(at)))
  return bits >= 80 && steps.size >= 6 && !/change-?me|password|placeholder/i.test(text)
}

/** Parses a comma-separated list of networks such as `10.0.0.0/8`. An address without a prefix matches itself. */
export const networks = z.string().transform((text, context): BlockList => {
  const parts = text.split(',').map((part) => part.trim())
  if (parts.every((part) => parseNetwork(part) !== undefined)) return toBlockList(parts)
  context.addIssue({
    code: 'custom',
    message: 'must be a comma-separated list of networks such as 10.0.0.0/8 or fd00::/8',
  })
  return z.NEVER
})

/** Parses `id:base64` pairs, separated by commas, with keys of 32 bytes. The first one encrypts. */
export const encryptionKeys = z.string().transform((text, context): [EncryptionKey, ...EncryptionKey[]] => {
  const [first, ...rest] = text.split(',').map((part) => {
    const [id = '', encoded = ''] = part.trim().split(':')
    return { id, key: Buffer.from(encoded, 'base64') }
  })
  const isGood = ({ id, key }: EncryptionKey) => /^[A-Za-z0-9_-]{1,32}$/.test(id) && key.length === 32
  if (first !== undefined && [first, ...rest].every(isGood)) return [first, ...rest]
  context.addIssue({ code: 'custom', message: 'must be a comma-separated list of id:base64, each key of 32 bytes' })
  return z.NEVER
})

/** A platform key that cannot be guessed. */
export const platformKey = z
  .string()
  .min(24, 'must have at least 24 characters')
  .refine(isUnpredictable, 'is too easy to guess; create one with: openssl rand -base64 32')
/** A secret of the key hashes. */
export const pepper = z.string().min(32, 'must have at least 32 characters')

/** The origin of a web page. */
export const origin = z
  .string()
  .refine((text) => URL.parse(text)?.origin === text, 'must be origins such as https://play.example.com')

/** A network in CIDR notation. */
export const network = z.union([z.cidrv4(), z.cidrv6()], 'must be networks such as 203.0.113.0/24')
/** The name of a Kubernetes user. */
export const clusterUser = () =>
  z.string().regex(/^[\w.:@-]{1,253}$/, 'must be a user name such as system:serviceaccount:orrery:api')
