import { timestamp } from 'drizzle-orm/pg-core'

/** A timestamp column with millisecond precision, as in the API. */
export const instant = () => timestamp({ withTimezone: true, precision: 3 })
