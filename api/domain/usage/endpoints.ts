import { usageAnswer } from '#api/domain/access/limits.ts'
import { endpoint } from '#api/domain/endpoint/endpoint.ts'
import { getUsage } from './usage.ts'

/** The endpoint of an organization's limits and their use. */
export const usageEndpoints = [
  endpoint({
    method: 'get',
    path: '/api/organizations/current/usage/',
    operationId: 'getUsage',
    summary: 'Read the limits of an organization with their use',
    description: 'Returns each limit of the organization and its current use.',
    tag: 'Organizations',
    scope: 'organization',
    needs: ['organization', 'r'],
    answer: usageAnswer,
    handle: async (ctx) => ({ body: await getUsage(ctx) }),
  }),
]
