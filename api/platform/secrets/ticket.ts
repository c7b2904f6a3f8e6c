import { createHash, randomBytes } from 'node:crypto'

const prefix = 'ort_'
const pattern = /^ort_[\w-]{43}$/

/** Generates a ticket: the prefix and 256 random bits in base64url. */
export const newTicket = (random: (size: number) => Buffer = randomBytes): string =>
  prefix + random(32).toString('base64url')

/** Reports whether the text has the form of a ticket. */
export const isTicket = (text: string): boolean => pattern.test(text)

/** Returns the lookup value of a ticket: its SHA-256. The ticket does not follow from it. */
export const hashOfTicket = (ticket: string): string => createHash('sha256').update(ticket).digest('base64url')
