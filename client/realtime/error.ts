import type { Resource } from './resource.ts'

/** Why something is followed no more. It holds no credential. */
export class RealtimeError extends Error {
  override readonly name = 'RealtimeError'
  /**
   * For programs: `No permission` and the like as the API says it, the code of a handshake that it refused, or that with
   * which it closed the connection.
   */
  readonly code: string
  /** What it is about; undefined is everything that was followed. */
  readonly resource: Resource | undefined

  constructor(code: string, message: string, resource?: Resource) {
    super(message)
    this.code = code
    this.resource = resource
  }
}

/** Codes after which another attempt would end in the same way: the credential is not valid, the scope is gone. */
const finalCodes = [4401, 4404]

/** The error of a connection that need not be made again, or undefined. */
export const finalError = ({ code, reason }: { code: number; reason: string }): RealtimeError | undefined =>
  finalCodes.includes(code) ? new RealtimeError(String(code), reason) : undefined
