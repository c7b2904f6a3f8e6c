/**
 * The object store does not serve: it is away, refuses the credentials, has no such bucket, or its disk is full. The
 * message names the operation, the object and the reason in a word, and never a credential.
 */
export class ObjectStoreError extends Error {
  override name = 'ObjectStoreError'

  constructor(operation: string, reason: string) {
    super(`The object store could not ${operation}: ${reason}`)
  }
}
