import { z } from 'zod'
import { buildReference } from '#api/domain/builds/schema.ts'
import { resolveBuildAndContent } from '#api/domain/builds/service.ts'
import { endpoint } from '#api/domain/endpoint/endpoint.ts'
import { setPicture } from '#api/domain/pictures/service.ts'
import { entityTag } from '#api/platform/http/entityTag.ts'
import { boundedText } from '#api/platform/http/fields.ts'
import { nextPageLink, pageQuery, toPage } from '#api/platform/http/page.ts'
import { deploymentStatuses } from '#shared/enumerations.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'
import { listWorlds } from './listing/service.ts'
import {
  createdWorld,
  createWorldBody,
  deploymentAnswer,
  patchWorldBody,
  scalingProfileAnswer,
  worldAnswer,
} from './schema.ts'
import {
  createWorld,
  getWorld,
  listDeployments,
  patchWorld,
  setWorldPicture,
  startWorld,
  stopWorld,
  type TaggedWorld,
} from './service.ts'

const tag = 'Worlds'
const path = '/api/worlds/'
const worldRoute = { path: '/api/worlds/{worldId}/', tag, scope: 'project' } as const
const toTaggedAnswer = ({ world, ...versions }: TaggedWorld) => ({
  body: world,
  headers: { etag: entityTag(versions) },
})

/** Fits every status twice. */
const statusText = boundedText(256)
const deploymentsQuery = pageQuery.extend({
  status: z
    .union([statusText, z.array(statusText).max(deploymentStatuses.length * 2)])
    .optional()
    .transform((given) => [given ?? []].flat().flatMap((each) => each.split(',')))
    .pipe(z.array(z.enum(deploymentStatuses)).max(deploymentStatuses.length * 2))
    .meta({
      type: 'array',
      items: { type: 'string', enum: [...deploymentStatuses] },
      examples: [['Running', 'Error']],
      description: 'Statuses of the runs to list. Repeat the parameter or separate them with commas.',
    }),
})

/** The endpoints of worlds. */
export const worldEndpoints = [
  endpoint({
    method: 'get',
    path: '/api/worlds/scalingProfiles/',
    operationId: 'listScalingProfiles',
    summary: 'List the scaling profiles, smallest first',
    tag,
    answer: z.array(scalingProfileAnswer),
    handle: async () => ({
      body: Object.values(scalingProfiles).map(({ name, capacity, memoryLimit }) => ({
        name,
        estimatedCapacity: capacity,
        maxBotsPerWorld: capacity,
        resourceConfiguration: { server: { memoryLimit } },
      })),
    }),
  }),
  endpoint({
    method: 'get',
    path,
    operationId: 'listWorlds',
    summary: 'List the worlds of an organization or of one of its projects',
    tag,
    scope: 'organization?project',
    query: pageQuery,
    answer: z.array(worldAnswer),
    answerHeaders: ['link'],
    problems: [404],
    handle: async (ctx, { query }) => {
      const page = toPage(query)
      const { items, next } = await listWorlds(ctx, page)
      return { body: items, headers: nextPageLink(path, page, next) }
    },
  }),
  endpoint({
    method: 'post',
    path,
    operationId: 'createWorld',
    summary: 'Create a world',
    tag,
    scope: 'project',
    needs: ['project', 'w'],
    body: createWorldBody,
    idempotent: true,
    answer: createdWorld,
    problems: [403, 409],
    handle: async (ctx, { body }) => ({ body: await createWorld(ctx, body) }),
  }),
  endpoint({
    method: 'post',
    path: '/api/worlds/resolveBuildAndContent/',
    operationId: 'resolveBuildAndContent',
    summary: 'Check that a build reference can be resolved',
    tag,
    scope: 'project',
    needs: ['project', 'r'],
    body: buildReference,
    status: 204,
    problems: [422],
    handle: async (ctx, { body }) => {
      await resolveBuildAndContent(ctx, body)
      return {}
    },
  }),
  endpoint({
    ...worldRoute,
    method: 'get',
    operationId: 'getWorld',
    summary: 'Read a world with its launch context',
    needs: ['world', 'r'],
    answer: worldAnswer,
    answerHeaders: ['etag'],
    handle: async (ctx, { params }) => toTaggedAnswer(await getWorld(ctx, params.worldId)),
  }),
  endpoint({
    ...worldRoute,
    method: 'patch',
    operationId: 'patchWorld',
    summary: 'Change a world. Absent fields stay; an object replaces the previous one as a whole',
    needs: ['world', 'w'],
    body: patchWorldBody,
    ifMatch: true,
    answer: worldAnswer,
    answerHeaders: ['etag'],
    problems: [409],
    handle: async (ctx, { params, body, ifMatch }) =>
      toTaggedAnswer(await patchWorld(ctx, { worldId: params.worldId, ifMatch, changes: body })),
  }),
  endpoint({
    ...worldRoute,
    method: 'patch',
    path: '/api/worlds/{worldId}/pictureUrl/',
    operationId: 'putWorldPicture',
    summary: 'Set the picture of a world',
    needs: ['world', 'w'],
    upload: true,
    answer: worldAnswer,
    answerHeaders: ['etag'],
    handle: async (ctx, { params, body }) =>
      toTaggedAnswer(await setPicture(ctx, params.worldId, body, (url) => setWorldPicture(ctx, params.worldId, url))),
  }),
  endpoint({
    ...worldRoute,
    method: 'post',
    path: '/api/worlds/{worldId}/start/',
    operationId: 'startWorld',
    summary: 'Start a new run of a world, whatever its state',
    needs: ['world', 'w'],
    throttled: 'world',
    problems: [409, 422],
    handle: async (ctx, { params }) => {
      await startWorld(ctx, params.worldId)
      return {}
    },
  }),
  endpoint({
    ...worldRoute,
    method: 'post',
    path: '/api/worlds/{worldId}/stop/',
    operationId: 'stopWorld',
    summary: 'Stop a world. Its server drains afterwards',
    needs: ['world', 'w'],
    throttled: 'world',
    handle: async (ctx, { params }) => {
      await stopWorld(ctx, params.worldId)
      return {}
    },
  }),
  endpoint({
    ...worldRoute,
    method: 'get',
    path: '/api/worlds/{worldId}/deployments/',
    operationId: 'listWorldDeployments',
    summary: 'List the runs of a world, oldest first',
    needs: ['world', 'r'],
    query: deploymentsQuery,
    answer: z.array(deploymentAnswer),
    answerHeaders: ['link'],
    handle: async (ctx, { params, query }) => {
      const page = toPage(query)
      const input = { worldId: params.worldId, statuses: query.status, page }
      const { items, next } = await listDeployments(ctx, input)
      return { body: items, headers: nextPageLink(`${path}${params.worldId}/deployments/`, page, next, query.status) }
    },
  }),
]
