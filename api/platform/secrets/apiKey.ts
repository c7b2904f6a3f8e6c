import { createHash, createHmac, randomBytes } from 'node:crypto'
import bs58 from 'bs58'

const prefix = 'ork_'
const secretBytes = 32
const checksumLength = 6
const pattern = /^ork_[1-9A-HJ-NP-Za-km-z]{38,60}$/

/** Generates a key: the prefix, 256 random bits in base58, and a checksum that detects typing errors without a query. */
export const newApiKey = (random: (size: number) => Buffer = randomBytes): string => {
  const secret = prefix + bs58.encode(random(secretBytes))
  return secret + checksum(secret)
}

/** Reports whether the text has the form and checksum of a key. */
export const isApiKey = (text: string): boolean =>
  pattern.test(text) && checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength)

/** Returns the lookup value of a key: its HMAC-SHA-256 under the pepper. It cannot be computed without the pepper. */
export const fingerprintOf = (apiKey: string, pepper: string): string =>
  createHmac('sha256', pepper).update(apiKey).digest('base64url')

/** Returns the id of a platform key in the tokens that it mints. It reveals nothing about the key without the pepper. */
export const platformKeyIdOf = (platformKey: string, pepper: string): string =>
  `platform-${fingerprintOf(platformKey, pepper).slice(0, 22)}`

/** The value that callers without access to a key see. */
export const maskedApiKey = `${prefix}${'*'.repeat(12)}`

const checksum = (secret: string): string =>
  bs58.encode(createHash('sha256').update(secret).digest()).slice(0, checksumLength)
