/** Returns an instant as RFC 3339, in UTC with milliseconds. */
export const toInstant = (ms: number): string => new Date(ms).toISOString()

/** Returns when the duration of a run ends, in epoch milliseconds; Infinity for a run without a duration. */
export const expiresAtMs = (durationMinutes: number | undefined, startedAt: string): number =>
  durationMinutes === undefined ? Number.POSITIVE_INFINITY : Date.parse(startedAt) + durationMinutes * 60_000
