/** The database cannot be used as it is set up. The message says why and what to do. */
export class SchemaError extends Error {
  override name = 'SchemaError'
  /** The error may end without a change of the settings, so it is worth trying again. */
  readonly mayPass: boolean

  constructor(message: string, { mayPass = false, cause }: { mayPass?: boolean; cause?: unknown } = {}) {
    super(message, { cause })
    this.mayPass = mayPass
  }
}
