import { createHash } from 'node:crypto'
import { Problem } from '#api/platform/http/problem.ts'

/**
 * The Idempotency-Key of a request, with a fingerprint of its scope, its path parameters and its body as JSON. `replayed` is true if
 * the response is a stored one.
 */
export type Idempotency = {
  readonly operationId: string
  readonly key: string
  readonly fingerprint: string
  replayed: boolean
}

/** The parts of a request that must be equal in a repeated request. */
type Fingerprinted = { readonly params: Readonly<Record<string, string>>; readonly body: unknown }

/** Sorts the members of objects, so that equal JSON has equal text (RFC 8259: an object is unordered). */
const withSortedMembers = (_: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value

const pattern = /^[\x21-\x7e]{1,255}$/

/** Parses the header Idempotency-Key (draft-ietf-httpapi-idempotency-key-header). Returns undefined if it is absent. */
export const parseIdempotencyKey = (
  header: string | undefined,
  { operationId }: { readonly operationId: string },
  scope: readonly string[],
  { params, body }: Fingerprinted,
): Idempotency | undefined => {
  if (header === undefined) return undefined
  if (!pattern.test(header)) {
    const errors = [{ path: 'idempotency-key', message: 'must be 1 to 255 visible ASCII characters' }]
    throw new Problem('invalid_request', 'The header Idempotency-Key is invalid.', { errors })
  }
  const fingerprint = createHash('sha256')
    .update(JSON.stringify([scope, params, body], withSortedMembers))
    .digest('base64url')
  return { operationId, key: header, fingerprint, replayed: false }
}
