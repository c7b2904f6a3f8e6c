import { createHash, createHmac, pbkdf2Sync } from 'node:crypto'

/** The default of Postgres. */
const iterations = 4_096

/**
 * Returns the SCRAM-SHA-256 verifier of a password (RFC 5802, RFC 7677) in the form in which Postgres stores it. A statement
 * that sets it does not contain the password, and Postgres may log statements.
 */
export const scramVerifier = (password: string, salt: Buffer): string => {
  const salted = pbkdf2Sync(password, salt, iterations, 32, 'sha256')
  const keyOf = (name: string): Buffer => createHmac('sha256', salted).update(name).digest()
  const storedKey = createHash('sha256').update(keyOf('Client Key')).digest('base64')
  const serverKey = keyOf('Server Key').toString('base64')
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${storedKey}:${serverKey}`
}
