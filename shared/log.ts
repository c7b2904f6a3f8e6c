import { type DestinationStream, pino } from 'pino'

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
      redact: {
        paths: ['authorization', 'apiKey', 'keyString', 'rootApiKey', 'headers["x-api-key"]', 'headers.authorization'],
        censor: '[redacted]',
      },
    },
    options.destination ?? pino.destination({ dest: 1, sync: true }),
  )
