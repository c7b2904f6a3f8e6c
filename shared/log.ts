import { type DestinationStream, pino, stdSerializers } from 'pino'
import { systemClock } from './clock.ts'
import { isRecord } from './kube/errors.ts'
import { createMissingRights } from './missingRights.ts'

/** The part of pino's interface that the product uses: fields, then a short message. */
export type Log = {
  debug(fields: object, message?: string): void
  info(fields: object, message?: string): void
  warn(fields: object, message?: string): void
  error(fields: object, message?: string): void
  child(fields: object): Log
}

/** The levels of `ORRERY_LOG_LEVEL`, from the most to the least verbose. */
export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const

/**
 * Creates a JSON log with one object per line, on standard output unless `destination` is given. Times are ISO 8601.
 * Fields whose names denote credentials are redacted. Missing rights give one line a minute for each namespace, with
 * their number in the field `missing`, and one for each right that is missing in the whole cluster.
 */
export const createLog = (options: {
  name: string
  level: (typeof logLevels)[number]
  destination?: DestinationStream
  monotonic?: () => number
}): Log => {
  const readMissingRight = createMissingRights(options.monotonic ?? systemClock.monotonic)
  return pino(
    {
      name: options.name,
      level: options.level,
      base: { name: options.name },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
      hooks: {
        logMethod([fields, ...texts], method) {
          const missing = isRecord(fields) ? readMissingRight(fields) : undefined
          if (missing === null) return
          method.apply(this, [missing === undefined ? fields : { ...(fields as object), missing }, ...texts])
        },
      },
      redact: {
        paths: [
          ...['authorization', 'apiKey', 'keyString', 'rootApiKey', 'ticket'],
          ...['headers["x-api-key"]', 'headers.authorization', 'headers["x-realtime-ticket"]'],
        ],
        censor: '[redacted]',
      },
    },
    options.destination ?? standardOutput(),
  )
}

/** Text beyond this length is written at once. */
const maxBuffered = 64 * 1024

/**
 * Creates a destination that writes the lines of one event-loop turn to standard output together, since under load the
 * system call costs more than the line. Lines of the last turn are written when the process exits.
 */
const standardOutput = (): DestinationStream => {
  const output = pino.destination({ dest: 1, sync: true })
  let buffered = ''
  const flush = (): void => {
    const text = buffered
    buffered = ''
    if (text !== '') output.write(text)
  }
  process.once('exit', flush)
  return {
    write: (line) => {
      if (buffered === '') setImmediate(flush)
      buffered += line
      if (buffered.length > maxBuffered) flush()
    },
  }
}

const maxCauses = 8

/**
 * Serializes an error as pino does, without the parameters of failed queries, since they may be secrets. Drizzle puts
 * them into a field of its error and into the message.
 */
const describeError = (error: Error): object => {
  let { params: _, ...fields }: Record<string, unknown> = stdSerializers.err(error)
  let cause: unknown = error
  for (let depth = 0; cause instanceof Error && depth < maxCauses; depth += 1, cause = cause.cause) {
    if (!('params' in cause)) continue
    const text = `\nparams: ${cause.params}`
    fields = {
      ...fields,
      message: String(fields.message).replace(text, ''),
      stack: String(fields.stack).replace(text, ''),
    }
  }
  return fields
}
