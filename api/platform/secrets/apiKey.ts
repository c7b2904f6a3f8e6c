import { createHash, createHmac, randomBytes } from 'node:crypto'
import bs58 from 'bs58'

const prefix = 'ork_'
const secretBytes = 32
const checksumLength = 6
const pattern = /^ork_[1-9A-HJ-NP-Za-km-z]{38,60}$/

/** A new key: the prefix, 256 random bits in base58, and a checksum by which a mistyped key is known without a query. */
export const newApiKey = (random: (size: number) => Buffer = randomBytes): string => {
  const secret = prefix + bs58.encode(random(secretBytes))
  return secret + checksum(secret)
}

/** Whether a text can be a key at all. */
export const isApiKey = (text: string): boolean =>
  pattern.test(text) && checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength)

/** By what a key is found: its HMAC-SHA-256 under the pepper, so that a dump of the table finds nothing elsewhere. */
export const fingerprintOf = (apiKey: string, pepper: string): string =>
  createHmac('sha256', pepper).update(apiKey).digest('base64url')

/** What those see who may not see the key. */
export const maskedApiKey = `${prefix}${'*'.repeat(12)}`

const checksum = (secret: string): string =>
  bs58.encode(createHash('sha256').update(secret).digest()).slice(0, checksumLength)
