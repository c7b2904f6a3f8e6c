import { createHash } from 'node:crypto'
import { Problem } from '#api/platform/http/problem.ts'

/** The key that a client gave a creation, with what it asked for; `replayed` tells whether it had been done before. */
export type Idempotency = {
  readonly operationId: string
  readonly key: string
  readonly fingerprint: string
  replayed: boolean
}

/** The parts of a request that must be equal for two requests with one key to be the same. */
type Fingerprinted = { readonly params: Readonly<Record<string, string>>; readonly body: unknown }

const pattern = /^[\x21-\x7e]{1,255}$/

/** Reads the header Idempotency-Key (draft-ietf-httpapi-idempotency-key-header); undefined where there is none. */
export const idempotencyOf = (
  header: string | undefined,
  { operationId }: { readonly operationId: string },
  scope: readonly string[],
  { params, body }: Fingerprinted,
): Idempotency | undefined => {
  if (header === undefined) return undefined
  if (!pattern.test(header)) {
    const errors = [{ path: 'idempotency-key', message: 'must be 1 to 255 visible ASCII characters' }]
    throw new Problem('invalid_request', 'The header Idempotency-Key is not valid.', { errors })
  }
  const fingerprint = createHash('sha256')
    .update(JSON.stringify([scope, params, body]))
    .digest('base64url')
  return { operationId, key: header, fingerprint, replayed: false }
}
