import * as z from 'zod'
import { endpoint, toPageReply } from '#api/domain/endpoint/endpoint.ts'
import { publicWorldAnswer } from '#api/domain/worlds/schema.ts'
import { pageQuery, toPage } from '#api/platform/http/page.ts'
import { getAccess, listPublicWorlds, listTravelLocations } from './discovery.ts'
import { accessAnswer, accessParams, travelLocations, travelQuery } from './schema.ts'

const tag = 'Discovery'

/** The endpoints that list public worlds and travel locations and check access to a world. */
export const discoveryEndpoints = [
  endpoint({
    method: 'get',
    path: '/api/worlds/public/',
    operationId: 'listPublicWorlds',
    summary: 'List the public and active worlds of all organizations',
    description:
      'Returns worlds whose launch context is public and active and whose phase is Active, without private fields.',
    tag,
    query: pageQuery,
    answer: z.array(publicWorldAnswer),
    answerHeaders: ['link'],
    handle: async (ctx, { query }) => toPageReply(await listPublicWorlds(ctx, toPage(query))),
  }),
  endpoint({
    method: 'get',
    path: '/api/worlds/travel/locations/',
    operationId: 'listTravelLocations',
    summary: 'List the active worlds that the key can read',
    description:
      'The headers restrict the list. A project without an organization names its own organization. With `include=idle`, worlds that sleep and that the access check wakes are in the list too.',
    tag,
    scope: 'optional',
    query: travelQuery,
    answer: travelLocations,
    answerHeaders: ['link'],
    problems: [404],
    handle: async (ctx, { query }) => {
      const { items, next } = await listTravelLocations(ctx, toPage(query), { includesIdle: query.include === 'idle' })
      return { body: { worlds: items }, next }
    },
  }),
  endpoint({
    method: 'get',
    path: '/api/worlds/{worldId}/users/{userId}/access/',
    operationId: 'getWorldAccess',
    summary: 'Check whether a user can enter a world',
    description:
      'The token is that of the user, or has `*` on the organization. A world that does not exist gives false. If the world sleeps and `runtime.wakeOnAccess` is Access, the check starts it for a user who may enter; a HEAD starts nothing.',
    tag,
    credential: 'token',
    scope: 'project',
    params: accessParams,
    answer: accessAnswer,
    problems: [403, 404],
    handle: async (ctx, { params, isHead }) => ({ body: await getAccess(ctx, { ...params, wakes: !isHead }) }),
  }),
]
