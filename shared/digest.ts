import { createHash } from 'node:crypto'

/** Returns a fingerprint of a JSON value: SHA-256 in base64url, 43 characters. It depends on the order of object fields. */
export const digestOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('base64url')
