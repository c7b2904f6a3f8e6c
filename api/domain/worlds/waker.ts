import type { Principal } from '#api/platform/auth/principal.ts'

/** The maximum number of characters of an id that a waker has. The database has an index on wakers. */
const maxLength = 256

/**
 * Returns the name under which the wakes of a caller are counted: an id within an organization. The platform key has no organization.
 * Longer ids with the same beginning are counted together, and so are users of several issuers with one id: an access check knows no more.
 */
export const wakerOf = ({ organizationId }: Pick<Principal, 'organizationId'>, id: string): string => {
  const short = id.slice(0, maxLength).toWellFormed()
  return organizationId === undefined ? short : `${organizationId}/${short}`
}

/** Returns a waker as the people of an organization see it: by its id, which other organizations do not share. */
export const showWaker = (waker: string, organizationId: string): string => {
  const at = waker.indexOf('/')
  return at < 0 || waker.slice(0, at) === organizationId ? waker.slice(at + 1) : 'A user of another organization'
}
