import { endpoint } from '#api/domain/endpoint/endpoint.ts'
import { getGroups, lockGroupsRevision, putGroups } from './groups.ts'
import { groupsBody } from './schema.ts'

const route = {
  path: '/api/organizations/current/groups/',
  tag: 'Tokens',
  scope: 'organization',
  needs: ['organization', '*'],
} as const

/** The endpoints of the group mappings of an organization. */
export const groupEndpoints = [
  endpoint({
    ...route,
    method: 'put',
    operationId: 'putGroups',
    summary: 'Replace the permissions of groups of external issuers',
    description:
      'Members of a group get its permissions in addition to those of their token, within a second on every replica. The caller must hold them.',
    // The permissions of a group outlive the token of the caller.
    credential: 'key',
    body: groupsBody,
    lockRevision: lockGroupsRevision,
    answer: groupsBody,
    handle: async (ctx, { body }) => ({ body: await putGroups(ctx, body) }),
  }),
  endpoint({
    ...route,
    method: 'get',
    operationId: 'getGroups',
    summary: 'Read the permissions of groups of external issuers',
    description:
      'Returns the group mappings: the permissions that members of a group get with a token of an external issuer.',
    answer: groupsBody,
    answerHeaders: ['etag'],
    handle: getGroups,
  }),
]
