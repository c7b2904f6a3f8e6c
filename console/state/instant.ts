/** An instant of ISO 8601 with its zone. Without one, its time would depend on the browser. */
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/i

/** The end of the years that the API takes, in milliseconds since 1970. */
const endMs = 253_402_300_800_000

/**
 * Returns the milliseconds since 1970 of an instant such as `2026-11-28T14:00:00Z`, or NaN for any other text and outside of the years
 * 1970 to 9999, which the API takes.
 */
export const parseInstant = (text: string): number => {
  const ms = instant.test(text) ? Date.parse(text.toUpperCase()) : Number.NaN
  return ms >= 0 && ms < endMs ? ms : Number.NaN
}
