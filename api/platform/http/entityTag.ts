import { Problem } from './problem.ts'

type Versioned = { readonly revision: number; readonly statusVersion?: number }

/** Returns the entity tag (RFC 9110, section 8.8.3): the revision of the desired state, then that of the observed state. */
export const entityTag = ({ revision, statusVersion = 0 }: Versioned): string => `"${revision}.${statusVersion}"`

/**
 * Throws a 412 if If-Match names another revision. Only the desired state is compared, since the observed state changes by
 * itself.
 */
export const checkIfMatch = (ifMatch: string | undefined, row: Versioned): void => {
  if (ifMatch === undefined) return
  const isMatch = ifMatch.split(',').some((tag) => tag.trim() === '*' || tag.trim().startsWith(`"${row.revision}.`))
  if (!isMatch)
    throw new Problem('precondition_failed', `The current revision is ${row.revision}. Read the resource again.`)
}
