import * as z from 'zod'
import type { ExternalToken } from '#api/platform/auth/principal.ts'
import { boundedText, freeText } from '#api/platform/http/fields.ts'
import { permissionField, permissionsWithin } from './permissions.ts'

/** The maximum number of groups that are read from a token. Entra ID, for example, writes at most 200 into one. */
export const maxGroups = 200

/** The maximum length of the name of a group, in code points. */
const maxGroupLength = 256
/** The most group mappings of an organization. */
export const maxMappings = 64

/** A group mapping: the permissions that members of a group of an external issuer get in an organization. */
export const groupMapping = z.strictObject({
  issuer: boundedText(512).min(1).meta({ description: 'The issuer of the tokens: their claim `iss`.' }),
  group: boundedText(maxGroupLength).min(1).meta({ description: 'The name of the group, as tokens contain it.' }),
  permissions: z
    .array(permissionField('r'))
    .max(16)
    .meta({ description: 'The permissions of the members, within the organization.' }),
})
export type GroupMapping = z.output<typeof groupMapping>

/** The group mappings of an organization. */
export const groupMappings = z.array(groupMapping).max(maxMappings)

/** The claim of a token that lists its groups, by default `groups`. */
export const groupsClaim = freeText().default('groups')

/**
 * Returns the groups of a token from its claim: a text or a list of texts. Reads the first `maxGroups` of a list, and leaves out
 * invalid names.
 */
export const groupsOf = (claim: unknown): string[] => {
  const listed: unknown[] = Array.isArray(claim) ? claim.slice(0, maxGroups) : [claim]
  return listed
    .filter((each) => typeof each === 'string')
    .filter((name) => name !== '' && [...name].length <= maxGroupLength)
}

/** Returns the permissions of an external token: its own and those of its groups. */
export const permissionsOfExternal = (
  organizationId: string,
  { issuer, groups, permissions }: ExternalToken,
  mappings: readonly GroupMapping[],
): string[] => {
  const held = new Set(groups)
  const mapped = mappings.filter((each) => each.issuer === issuer && held.has(each.group))
  const granted = mapped.flatMap((each) => each.permissions)
  return [...new Set([...permissions, ...permissionsWithin(organizationId, granted)])]
}
