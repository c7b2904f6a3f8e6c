import { hash } from 'node:crypto'
import { Problem } from './problem.ts'

/** The version of the desired state of a resource, without a dot. */
export type Revision = number | string

/** The headers of a conditional request (RFC 9110, section 13.1). */
export type Conditions = { readonly ifMatch: string | undefined; readonly ifNoneMatch: string | undefined }

/** Returns the revision of desired state that has no number: its hash. */
export const revisionOf = (state: unknown): Revision => digest(JSON.stringify(state))

/**
 * Returns the strong entity tag (RFC 9110, section 8.8.3) of a response: the revision of the desired state, then the hash of the
 * body. So equal tags mean equal bodies, whatever the body depends on.
 */
export const entityTag = (revision: Revision, body: string): string => `"${revision}.${digest(body)}"`

const digest = (text: string): string => hash('sha256', text, 'base64url')

/**
 * Reports whether the client has the current response (304), in the order of RFC 9110, section 13.2.2. Throws a 412 if If-Match
 * names another revision.
 */
export const isUnmodified = ({ ifMatch, ifNoneMatch }: Conditions, etag: string): boolean => {
  if (ifMatch !== undefined) checkIfMatch(ifMatch, etag.slice(1, etag.indexOf('.')))
  return isNamed(ifNoneMatch, etag)
}

/** Reports whether If-None-Match names an entity tag. The comparison is weak. */
export const isNamed = (ifNoneMatch: string | undefined, etag: string): boolean =>
  ifNoneMatch !== undefined && names(ifNoneMatch, (tag) => tag.replace(/^W\//, '') === etag)

/**
 * Throws a 412 if a write of a resource must not happen: If-Match names another revision, or If-None-Match names this one. Only the
 * desired state is compared, since the observed state changes by itself. `revision` is undefined if the resource does not exist.
 */
export const checkConditions = ({ ifMatch, ifNoneMatch }: Conditions, revision: Revision | undefined): void => {
  if (ifMatch !== undefined) checkIfMatch(ifMatch, revision)
  if (ifNoneMatch === undefined || revision === undefined) return
  if (names(ifNoneMatch, (tag) => hasRevision(tag.replace(/^W\//, ''), revision))) {
    throw failed(`The resource exists with the revision ${revision}, which If-None-Match excludes.`)
  }
}

const checkIfMatch = (ifMatch: string, revision: Revision | undefined): void => {
  if (revision === undefined) throw failed('The resource does not exist. Create it without If-Match.')
  if (names(ifMatch, (tag) => hasRevision(tag, revision))) return
  throw failed(`The current revision is ${revision}. Read the resource again.`)
}

/** Throws a 412 if If-Match names entity tags, for a resource that has none. */
export const refuseTags = ({ ifMatch }: Conditions): void => {
  if (ifMatch !== undefined && !names(ifMatch, () => false)) {
    throw failed('The resource has no entity tag. Send the request without If-Match.')
  }
}

const failed = (detail: string): Problem => new Problem('precondition_failed', detail)

const hasRevision = (tag: string, revision: Revision): boolean => tag.startsWith(`"${revision}.`)

/** Reports whether a header is `*` or has a tag with a property. A tag may contain commas. */
const names = (header: string, hasProperty: (tag: string) => boolean): boolean =>
  header.trim() === '*' || (header.match(/(?:W\/)?"[^"]*"/g) ?? []).some(hasProperty)
