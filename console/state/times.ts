const clock = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const
const day = { day: 'numeric', month: 'short' } as const

/** Writes times in one zone. */
export type Times = {
  /** The name of the zone, such as `Europe/Berlin`. */
  readonly zone: string
  /** Returns a date and time, with the year if it is not that of `nowMs`. */
  write(at: string, nowMs: number): string
  /** Returns a time without its date. */
  writeTimeAlone(at: string): string
}

/** Creates the writer of times in a zone. Without one, it is the zone of the process. */
export const createTimes = (timeZone?: string): Times => {
  const create = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat('en', { ...options, ...(timeZone !== undefined && { timeZone }) })
  const year = create({ year: 'numeric' })
  const short = create({ ...day, ...clock })
  const long = create({ ...day, year: 'numeric', ...clock })
  const alone = create(clock)
  return {
    zone: short.resolvedOptions().timeZone,
    write: (at, nowMs) => {
      const date = new Date(at)
      return (year.format(date) === year.format(nowMs) ? short : long).format(date)
    },
    writeTimeAlone: (at) => alone.format(new Date(at)),
  }
}
