/** The log that the kit writes to: pino's calls with fields, then a short message. */
export type KubeLog = {
  debug(fields: object, message?: string): void
  info(fields: object, message?: string): void
  warn(fields: object, message?: string): void
  error(fields: object, message?: string): void
}

/** A log that discards every line. */
export const silentLog: KubeLog = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** Returns a log that adds `extra` to the fields of every line. */
export const withFields = (log: KubeLog, extra: object): KubeLog => ({
  debug: (fields, message) => log.debug({ ...extra, ...fields }, message),
  info: (fields, message) => log.info({ ...extra, ...fields }, message),
  warn: (fields, message) => log.warn({ ...extra, ...fields }, message),
  error: (fields, message) => log.error({ ...extra, ...fields }, message),
})
