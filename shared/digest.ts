import { createHash } from 'node:crypto'

/** A fingerprint of a JSON value: SHA-256 in base64url, 43 characters. The order of an object's fields counts. */
export const digestOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('base64url')
