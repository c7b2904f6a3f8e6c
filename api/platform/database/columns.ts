import { timestamp } from 'drizzle-orm/pg-core'

/** A moment with the precision that the API shows: milliseconds. */
export const instant = () => timestamp({ withTimezone: true, precision: 3 })
