import { createHmac, randomBytes } from 'node:crypto'

const prefix = 'whsec_'
const secretBytes = 32

/** Generates a signing secret: `whsec_` and 256 random bits in base64, as Standard Webhooks defines it. */
export const newSigningSecret = (random: (size: number) => Buffer = randomBytes): string =>
  prefix + random(secretBytes).toString('base64')

/** A message to sign. */
export type SignedMessage = { readonly id: string; readonly timestampSeconds: number; readonly body: string }

/**
 * Returns the headers of a signed message (Standard Webhooks 1.0): HMAC-SHA-256 over `<id>.<timestamp>.<body>`, with one
 * signature for each secret, separated by spaces.
 */
export const signatureHeaders = (message: SignedMessage, secrets: readonly string[]): Record<string, string> => ({
  'webhook-id': message.id,
  'webhook-timestamp': String(message.timestampSeconds),
  'webhook-signature': secrets.map((secret) => `v1,${signatureOf(message, secret)}`).join(' '),
})

const signatureOf = ({ id, timestampSeconds, body }: SignedMessage, secret: string): string =>
  createHmac('sha256', Buffer.from(secret.slice(prefix.length), 'base64'))
    .update(`${id}.${timestampSeconds}.${body}`)
    .digest('base64')
