/**
 * The object store failed: it is unreachable, refuses the credentials, has no such bucket, or its disk is full. The
 * message names the operation, the object and an error code, and never contains a credential.
 */
export class ObjectStoreError extends Error {
  override name = 'ObjectStoreError'

  constructor(operation: string, reason: string) {
    super(`Object store operation failed: ${operation}: ${reason}.`)
  }
}
