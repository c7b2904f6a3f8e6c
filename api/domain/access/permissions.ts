import { boundedText } from '#shared/domain/common.ts'
import type { Verb } from '#shared/domain/permissions.ts'

/** An id in a path: any text without control characters and without the characters that structure a permission. */
const anyId = '[^/:*\\u0000-\\u001f\\u007f-\\u009f]{1,128}'

/** The syntax of a permission. */
const permissionPattern = new RegExp(
  `^(\\*|organizations/${anyId}(/projects/${anyId}(/worlds/${anyId})?)?(/\\*\\*)?:[rw*])$`,
  'u',
)

/** The maximum length of a permission, in code points: three ids of 128 and what stands between them. */
export const maxPermissionLength = 512

/** The schema of a permission in a body, with the verb of its example. */
export const permissionField = (verb: Verb) =>
  boundedText(maxPermissionLength).regex(
    permissionPattern,
    `must be <path>:<verb>, such as organizations/{id}/**:${verb}`,
  )

/** Returns the permissions that are well formed and lie within an organization. */
export const permissionsWithin = (organizationId: string, permissions: readonly string[]): string[] => {
  const own = `organizations/${organizationId}`
  return permissions.filter(
    (each) =>
      (each.startsWith(`${own}:`) || each.startsWith(`${own}/`)) && each.isWellFormed() && permissionPattern.test(each),
  )
}
