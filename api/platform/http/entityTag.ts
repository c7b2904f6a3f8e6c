import { Problem } from './problem.ts'

type Versioned = { readonly revision: number; readonly statusVersion?: number }

/** The tag of a thing's present state (RFC 9110, 8.8.3): the revision of what is wanted, then that of what is observed. */
export const entityTag = ({ revision, statusVersion = 0 }: Versioned): string => `"${revision}.${statusVersion}"`

/**
 * Throws a 412 where If-Match names another revision. Only what is wanted is compared: what is observed changes by
 * itself and is no reason to refuse an edit.
 */
export const matches = (ifMatch: string | undefined, row: Versioned): void => {
  if (ifMatch === undefined) return
  const holds = ifMatch.split(',').some((tag) => tag.trim() === '*' || tag.trim().startsWith(`"${row.revision}.`))
  if (!holds) throw new Problem('precondition_failed', `It is at revision ${row.revision} by now: read it again.`)
}
