import type { Resource } from './resource.ts'

/** The reason for which a subscription ended. It holds no credential. */
export class RealtimeError extends Error {
  override readonly name = 'RealtimeError'
  /**
   * For programs: an error of the API such as `No permission`, the code of a refused handshake, or the close code of the
   * connection.
   */
  readonly code: string
  /** The resource that it concerns; undefined if it ended all subscriptions. */
  readonly resource: Resource | undefined

  constructor(code: string, message: string, resource?: Resource) {
    super(message)
    this.code = code
    this.resource = resource
  }
}

/** Close codes that another attempt would get again: the credential is invalid, the scope does not exist. */
const finalCodes = [4401, 4404]

/** Returns the error of a close code after which the client must not reconnect, or undefined. */
export const toFinalError = ({ code, reason }: { code: number; reason: string }): RealtimeError | undefined =>
  finalCodes.includes(code) ? new RealtimeError(String(code), reason) : undefined
