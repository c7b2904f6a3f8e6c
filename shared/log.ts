import { type DestinationStream, pino, stdSerializers } from 'pino'

/** The part of pino's interface that the product uses; `fields` first, then a short message. */
export type Log = {
  debug(fields: object, message?: string): void
  info(fields: object, message?: string): void
  warn(fields: object, message?: string): void
  error(fields: object, message?: string): void
  child(fields: object): Log
}

/** The levels of `ORRERY_LOG_LEVEL`, quietest last. */
export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const

/**
 * A JSON log, one object a line, on standard output unless `destination` is given. Times are ISO 8601; fields that hold
 * credentials by their name are replaced, wherever a careless caller puts them.
 */
export const createLog = (options: {
  name: string
  level: (typeof logLevels)[number]
  destination?: DestinationStream
}): Log =>
  pino(
    {
      name: options.name,
      level: options.level,
      base: { name: options.name },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
      redact: {
        paths: ['authorization', 'apiKey', 'keyString', 'rootApiKey', 'headers["x-api-key"]', 'headers.authorization'],
        censor: '[redacted]',
      },
    },
    options.destination ?? standardOutput(),
  )

/** So much text is not kept for the end of a turn. */
const maxKept = 64 * 1024

/**
 * Standard output, to which the lines of one turn of the event loop are written together: under load a system call costs
 * more than a line. Those of the turn in which the process ends are written as it exits.
 */
const standardOutput = (): DestinationStream => {
  const output = pino.destination({ dest: 1, sync: true })
  let kept = ''
  const flush = (): void => {
    const text = kept
    kept = ''
    if (text !== '') output.write(text)
  }
  process.once('exit', flush)
  return {
    write: (line) => {
      if (kept === '') setImmediate(flush)
      kept += line
      if (kept.length > maxKept) flush()
    },
  }
}

const maxCauses = 8

/**
 * An error as pino tells it, but for the parameters of failed queries, which may be secrets: drizzle gives them as a
 * field of its error, and in its message.
 */
const describeError = (error: Error): object => {
  let { params: _, ...told }: Record<string, unknown> = stdSerializers.err(error)
  let cause: unknown = error
  for (let depth = 0; cause instanceof Error && depth < maxCauses; depth += 1, cause = cause.cause) {
    if (!('params' in cause)) continue
    const text = `\nparams: ${cause.params}`
    told = { ...told, message: String(told.message).replace(text, ''), stack: String(told.stack).replace(text, '') }
  }
  return told
}
